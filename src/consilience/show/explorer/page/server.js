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
    page: async () => (await fetched("api/page")).text(),
  };
}

async function asked(path) {
  return (await fetched(path)).json();
}

async function posted(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return (await fetched(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

// The answer of the server; one that refuses, fails or is gone is an error in words.
async function fetched(path, choices = {}) {
  const response = await fetch(path, choices).catch((problem) => {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer; has consilience explore ended?");
  });
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw new Error(error ?? `The server failed (${response.status}).`);
}
