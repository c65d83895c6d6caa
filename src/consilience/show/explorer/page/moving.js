// Zoom and pan: the world is drawn at a scale and moved; `moved` is told of each change.

const LEAST = 0.03;
const MOST = 4;

export function createCamera(svg, world, moved) {
  const camera = { x: 0, y: 0, scale: 1, draggedAt: -1e9, fitted: null };
  const apply = () => {
    world.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.scale})`);
    moved(camera);
  };
  camera.set = (x, y, scale) => {
    Object.assign(camera, { x, y, scale: Math.min(MOST, Math.max(LEAST, scale)), fitted: null });
    apply();
  };
  camera.zoom = (factor, atX = svg.clientWidth / 2, atY = svg.clientHeight / 2) => {
    const scale = Math.min(MOST, Math.max(LEAST, camera.scale * factor));
    const ratio = scale / camera.scale;
    camera.set(atX - (atX - camera.x) * ratio, atY - (atY - camera.y) * ratio, scale);
  };
  camera.fit = ([width, height], most = 1.15) => {
    const [w, h] = [svg.clientWidth, svg.clientHeight];
    const scale = Math.min(most, (w - 24) / Math.max(width, 1), (h - 24) / Math.max(height, 1));
    camera.set((w - width * scale) / 2, Math.max(12, (h - height * scale) / 2), scale);
    camera.fitted = [width, height];
  };
  camera.center = (x, y, scale = camera.scale) => {
    camera.set(svg.clientWidth / 2 - x * scale, svg.clientHeight / 2 - y * scale, scale);
  };
  // What can be seen, in the world's units: left, top, right, bottom.
  camera.seen = () => {
    const { x, y, scale } = camera;
    return [-x / scale, -y / scale, (svg.clientWidth - x) / scale, (svg.clientHeight - y) / scale];
  };
  listenTo(svg, camera);
  const isOnPaper = () => svg.hasAttribute("viewBox");
  new ResizeObserver(() => camera.fitted && !isOnPaper() && camera.fit(camera.fitted)).observe(svg); // as long as nobody moved it
  showOnPaper(svg);
  return camera;
}

// On paper there stands what the screen shows, as large as the sheet allows.
function showOnPaper(svg) {
  addEventListener("beforeprint", () => svg.setAttribute("viewBox", `0 0 ${svg.clientWidth} ${svg.clientHeight}`));
  addEventListener("afterprint", () => svg.removeAttribute("viewBox"));
}

function listenTo(svg, camera) {
  let start = null;
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = svg.getBoundingClientRect();
    camera.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    if (event.button === 0) start = { x: event.clientX, y: event.clientY, camera: { ...camera }, moved: false };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!start) return;
    const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
    if (!start.moved && Math.hypot(dx, dy) < 5) return;
    if (!start.moved) svg.setPointerCapture(event.pointerId);
    start.moved = true;
    camera.set(start.camera.x + dx, start.camera.y + dy, camera.scale);
  });
  const end = (event) => {
    if (start?.moved) camera.draggedAt = event.timeStamp;
    start = null;
    if (svg.hasPointerCapture(event.pointerId)) svg.releasePointerCapture(event.pointerId);
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
}
