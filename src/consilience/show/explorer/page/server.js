// The engine of the server: the library answers, the page draws.

export function serverEngine() {
  let pending = null; // the beliefs that are asked for
  let drawn = null; // the panel
  return {
    kind: "server",
    still: "",
    model: () => asked("api/model"),
    beliefs: async (question) => {
      pending?.abort();
      pending = new AbortController();
      return posted("api/beliefs", question, pending.signal);
    },
    panel: async (name, question) => {
      drawn?.abort();
      drawn = new AbortController();
      return posted(`api/panel/${encodeURIComponent(name)}`, question, drawn.signal);
    },
    cancel: () => drawn?.abort(),
    layout: (node) => asked(`api/layout?focus=${encodeURIComponent(node)}&steps=2`),
    comparison: () => asked("api/comparison"),
    row: (number) => asked(`api/row?number=${number}`),
    page: async () => (await fetch("api/page")).text(),
  };
}

async function asked(path) {
  return parsed(await fetch(path));
}

async function posted(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return parsed(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }));
}

async function parsed(response) {
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? `the server said ${response.status}.`);
  return answer;
}
