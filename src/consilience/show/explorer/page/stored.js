// Panels that go with a file: drawn by the library when it was written, given nothing.

// `panels` has the packed answers by panel and node, and the node that a page opens with.
export function storedPanels(model, panels) {
  let unpacked = null;
  return async (name, { node, given, do: set }) => {
    unpacked ??= unzipped(panels.packed).then(JSON.parse);
    const byNode = (await unpacked)[name];
    const { follows } = model.panels.find((one) => one.name === name);
    const wanted = follows.includes("node") ? node ?? panels.first : panels.first;
    if (!Object.hasOwn(byNode, wanted)) return absent(Object.keys(byNode));
    const found = byNode[wanted];
    const isFollowed = ([key, findings]) => follows.includes(key) && Object.keys(findings).length > 0;
    if (!Object.entries({ given, do: set }).some(isFollowed)) return found;
    return { ...found, notes: ["As it was without findings: a file draws no panel anew.", ...found.notes] };
  };
}

function absent(names) {
  const notes = [`This file has this panel of ${names.join(", ")}.`, "consilience explore draws it of every node."];
  return { svg: "", table: { columns: [], rows: [] }, notes };
}

async function unzipped(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
