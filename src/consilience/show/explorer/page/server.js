// The engine of the server: the library answers, the page draws.

export function serverEngine() {
  let pending = null;
  return {
    kind: "server",
    still: "",
    model: () => asked("api/model"),
    beliefs: async (question) => {
      pending?.abort();
      pending = new AbortController();
      return posted("api/beliefs", question, pending.signal);
    },
    panel: (name, question) => posted(`api/panel/${encodeURIComponent(name)}`, question),
    layout: (node) => asked(`api/layout?focus=${encodeURIComponent(node)}&steps=2`),
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
