"use strict";
// One state, one request at a time: whoever asks again while an answer is under way makes that
// answer stale; it is dropped and the newest state is asked instead.

const $ = id => document.getElementById(id);
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
let DOWN = DARK.matches ? "#4f83bd" : "#2c4a6e";  // visible on either page
const UP = "#f2efe6", FACE = "#edae49", BROKEN = "#d1495b", WALL = "#00a0b4";
const HOT = [0xc4, 0x45, 0x3c], MILD = [0xf2, 0xef, 0xe6], COLD = [0x2c, 0x4a, 0x6e];
const LATTICES = ["square", "triangular", "honeycomb", "torus"], OPEN = LATTICES.slice(0, 3);
const EXAMPLE = "# the Petersen graph: not planar\n" +
  "0 1 1\n1 2 -1\n2 3 1\n3 4 1\n4 0 -1\n0 5 1\n1 6 -1\n2 7 1\n3 8 1\n4 9 1\n" +
  "5 7 1\n7 9 -1\n9 6 1\n6 8 1\n8 5 -1\n";

const state = {
  view: "ground-state", edits: [], text: EXAMPLE, picture: null, sampleSeed: 1, spin: null,
  drawn: null, drawnKey: "", ground: null, groundKey: "", answer: null, first: null, join: false,
  curves: null, curvesKey: "",
};

// -- what is asked -----------------------------------------------------------------------------

const number = id => Number($(id).value);
const temperature = () => Number((10 ** number("temperature")).toPrecision(3));

function source() {
  const kind = $("kind").value;
  if (kind === "edges") return { kind, text: state.text };
  if (kind === "image") {
    return { kind, ...greyLevels(number("size")), smoothness: number("smoothness"),
      data: number("data"), contrast: number("contrast") };
  }
  const seed = Math.min(Math.max(Math.trunc(number("seed")) || 0, 0), 2147483647);
  return { kind, rows: number("size"), columns: number("size"), disorder: $("disorder").value,
    negative: number("negative"), seed };
}

function preview() {
  const canvas = $("preview"), from = state.picture || examplePicture();
  const scale = 120 / Math.max(from.width, from.height);
  canvas.width = Math.max(1, Math.round(from.width * scale));
  canvas.height = Math.max(1, Math.round(from.height * scale));
  canvas.getContext("2d").drawImage(from, 0, 0, canvas.width, canvas.height);
}

function greyLevels(side) {
  const from = state.picture || examplePicture();
  const scale = Math.min(side / Math.max(from.width, from.height), 1);
  const columns = Math.max(1, Math.round(from.width * scale));
  const rows = Math.max(1, Math.round(from.height * scale));
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff";
  context.fillRect(0, 0, columns, rows);
  context.imageSmoothingQuality = "high";
  context.drawImage(from, 0, 0, columns, rows);
  const pixels = context.getImageData(0, 0, columns, rows).data;
  let bytes = "";
  for (let i = 0; i < pixels.length; i += 4) {
    bytes += String.fromCharCode(
      Math.round(0.299 * pixels[i] + 0.587 * pixels[i + 1] + 0.114 * pixels[i + 2]));
  }
  return { rows, columns, grey: btoa(bytes) };
}

let example = null;
function examplePicture() {
  if (example) return example;
  example = document.createElement("canvas");
  example.width = example.height = 200;
  const context = example.getContext("2d");
  const image = context.createImageData(200, 200);
  let seed = 7;
  const noise = () => { seed = (seed * 16807) % 2147483647; return seed / 2147483647; };
  for (let y = 0; y < 200; y++) {
    for (let x = 0; x < 200; x++) {
      const inside = Math.hypot(x - 80, y - 90) < 52 || (Math.abs(x - 145) < 28 && Math.abs(y - 130) < 42);
      const grey = (inside ? 165 : 90) + 260 * (noise() - 0.5) + 200 * (noise() - 0.5);
      image.data.set([grey, grey, grey, 255], 4 * (200 * y + x));
    }
  }
  context.putImageData(image, 0, 0);
  return example;
}

async function ask(question, body) {
  const reply = await fetch(`api/${question}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error || reply.statusText);
  return answer;
}

let busy = false, again = false, timer = 0;

function refresh(delay = 0) {
  clearTimeout(timer);
  setStatus("busy");
  timer = setTimeout(run, delay);
}

async function run() {
  if (busy) { again = true; return; }
  busy = true;
  do {
    again = false;
    try {
      await step();
    } catch (error) {
      if (!again) show(null, error instanceof TypeError ? "planaris play is not running any more" : error.message);
    }
  } while (again);
  busy = false;
}

async function step() {
  const body = { source: source(), edits: state.edits, temperature: temperature() };
  const key = JSON.stringify([body.source, body.edits]), view = state.view;
  if (key !== state.drawnKey) {
    const drawn = await ask("model", { ...body, temperature: 1 });
    if (again) return;
    state.drawn = drawn;
    state.drawnKey = key;
    state.answer = null;
    state.first = null;
    if (state.spin >= drawn.positions.length) state.spin = null;
    paint();
  }
  if (view === "sample" && state.groundKey !== key && state.drawn.surface === "planar") {
    const ground = await ask("ground-state", body);
    if (again) return;
    keepGround(ground.spins, key);
  }
  const extra = view === "sample" ? { sample_seed: state.sampleSeed }
    : view === "marginals" && state.spin !== null ? { spin: state.spin } : {};
  const answer = await ask(view, { ...body, ...extra });
  if (again) return;
  if (view === "log-partition" && state.curvesKey !== key) {
    const curves = await ask("curves", body);
    if (again) return;
    state.curves = curves;
    state.curvesKey = key;
  }
  if (view === "ground-state") keepGround(answer.spins, key);
  if (view === "domain-wall") keepGround(answer.ground, key);
  show({ ...answer, view });
}

function keepGround(spins, key) {
  state.ground = spins;
  state.groundKey = key;
}

// -- what is said ------------------------------------------------------------------------------

const digits = (x, n = 10) => x === null || x === undefined ? "?" : String(Number(x.toPrecision(n)));
const time = s => s < 1 ? `${Number((1000 * s).toPrecision(2))} ms` : `${Number(s.toPrecision(3))} s`;

const many = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

const called = v => state.drawn.labels ? `${v} (${state.drawn.labels[v]})` : `${v}`;

function setStatus(name) {
  $("status").dataset.state = name;
  $("status").setAttribute("aria-busy", String(name === "busy"));
}

function show(answer, problem) {
  state.answer = answer;
  if (problem) {
    $("verdict").textContent = problem;
    $("numbers").textContent = $("proof").textContent = "\u00a0";
    setStatus("error");
  } else {
    $("verdict").textContent = verdict(answer);
    $("numbers").textContent = numbers(answer);
    $("proof").textContent = `${answer.certificate}${answer.check_seconds == null ? "" : ` · checked in ${time(answer.check_seconds)}`} · ${many(state.drawn.positions.length, "spin")}, ${many(state.drawn.edges.length, "edge")}, ${state.drawn.surface}`;
    setStatus(answer.exact ? "exact" : "interval");
  }
  $("status").dataset.count = String(Number($("status").dataset.count) + 1);
  paint();
}

function verdict(answer) {
  const checked = answer.checked === null ? "" : answer.checked ? " · certificate checked" : " · not proved a second way";
  const how = `${answer.method}${checked} · ${time(answer.seconds)}`;
  if (answer.exact) return `exact · ${how}`;
  if (answer.stated_error != null) return `estimated, stated error ${digits(answer.stated_error, 1)} · ${how}`;
  if (answer.lower === undefined) return `estimate, with no bound on its error · ${how}`;
  return `interval [${digits(answer.lower, 9)}, ${digits(answer.upper, 9)}] · ${how}`;
}

function numbers(answer) {
  const at = `at T = ${digits(answer.temperature, 3)}`;
  const n = Math.max(state.drawn.positions.length, 1);
  if (answer.view === "log-partition") {
    const width = answer.upper - answer.lower;
    const inner = answer.exact
      ? `log Z = ${digits(answer.value, 14)} ± ${digits(width / 2, 2)} ${at}`
      : `log Z between ${digits(answer.lower, 12)} and ${digits(answer.upper, 12)} ${at}`;
    const around = answer.interval;
    return around && answer.exact
      ? `${inner}; ${around.method}: [${digits(around.lower, 10)}, ${digits(around.upper, 10)}]` : inner;
  }
  if (answer.view === "marginals") {
    if (answer.nodes === null) return `P(s_u = s_v) of every edge ${at}`;
    return answer.held === null ? `P(s = +1) of every spin ${at}`
      : `P(s = +1) ${at} when spin ${called(answer.held)} is up; click another spin`;
  }
  const energy = `energy ${digits(answer.energy)} (${digits(answer.energy / n, 6)} per spin)`;
  if (answer.view === "domain-wall") return `${energy}; the wall costs ${digits(answer.wall_energy)}`;
  if (answer.view === "sample") {
    const magnet = [...answer.spins].reduce((sum, c) => sum + (c === "+" ? 1 : -1), 0) / n;
    return `${energy}, magnetisation ${digits(magnet, 3)} ${at}; press Sample for another`;
  }
  const broken = countBroken(answer.spins);
  const faces = state.drawn.surface === "not planar" ? "" : `, ${many(state.drawn.faces.length, "frustrated face")}`;
  return `${energy}, ${many(broken, "unsatisfied edge")}${faces}`;
}

const product = (spins, [u, v]) => spins[u] === spins[v] ? 1 : -1;
const countBroken = spins => state.drawn.edges.reduce(
  (count, edge, k) => count + (state.drawn.couplings[k] * product(spins, edge) < 0), 0);

// -- what is drawn -----------------------------------------------------------------------------

const view = { x: [], y: [], spacing: 1, unit: 1 };

function place(width, height) {
  const spots = state.drawn.positions;
  let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
  for (const [x, y] of spots) {
    left = Math.min(left, x); right = Math.max(right, x);
    low = Math.min(low, y); high = Math.max(high, y);
  }
  const unit = typicalLength();
  const pad = 0.9 * unit;
  const scale = Math.min(width / (right - left + 2 * pad), height / (high - low + 2 * pad));
  const midX = (left + right) / 2, midY = (low + high) / 2;
  view.x = spots.map(([x]) => width / 2 + scale * (x - midX));
  view.y = spots.map(([, y]) => height / 2 - scale * (y - midY));
  view.unit = unit;
  view.spacing = scale * unit;
}

function typicalLength() {
  if (state.drawn.shape) return 1;
  const spots = state.drawn.positions;
  const lengths = state.drawn.edges.slice(0, 500)
    .map(([u, v]) => Math.hypot(spots[u][0] - spots[v][0], spots[u][1] - spots[v][1]))
    .filter(length => length > 0).sort((a, b) => a - b);
  return lengths.length ? lengths[lengths.length >> 1] : 1;
}

function heat(p) {
  const [from, to, t] = p < 0.5 ? [COLD, MILD, 2 * p] : [MILD, HOT, 2 * p - 1];
  const mix = k => Math.round(from[k] + (to[k] - from[k]) * t);
  return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
}
const HEAT = Array.from({ length: 65 }, (_, k) => heat(k / 64));
const heatOf = p => HEAT[Math.round(64 * Math.min(Math.max(p, 0), 1))];

function paint() {
  const canvas = $("picture"), ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const empty = !state.drawn || !state.drawn.positions.length;
  if (!empty) place(width, height);
  legend();
  if (empty) return;
  draw(context, width, height);
  canvas.setAttribute("aria-label", `${state.drawn.positions.length} spins, ${state.drawn.edges.length} edges. ${$("verdict").textContent}. ${$("numbers").textContent}`);
}

const curvesKnown = () => state.view === "log-partition" && state.drawn && state.curvesKey === state.drawnKey;
const curvesShown = () => curvesKnown() && state.curves.temperatures.length > 1;

function draw(context, width, height) {
  if (curvesShown()) {
    drawCurves(context, width, height);
    return;
  }
  const answer = state.answer, marginals = answer && answer.view === "marginals";
  const grid = ["square", "torus", "image"].includes(state.drawn.kind);
  const heat = marginals && grid && answer.nodes !== null;
  const cells = heat || (grid && view.spacing < 10);
  if (cells) drawSpins(context, true);
  const crowded = answer && answer.view === "sample" && view.spacing < 6;
  if (!marginals && !crowded) drawFaces(context);
  if (marginals && !heat) drawPairs(context, answer);
  else if (!heat) drawEdges(context, cells);
  if (answer && answer.spins) drawState(context, answer);
  if (!cells) drawSpins(context, false);
  drawMarks(context);
}

const CURVES = [["energy", "energy per spin"], ["entropy", "entropy per spin"], ["specific_heat", "specific heat per spin"]];

// Where the panels lie, one for each curve: side by side, or below each other where that is narrow.
function panels(width, height) {
  const wide = width > 640, gap = 54, count = CURVES.length;
  const w = (wide ? width / count : width) - gap - 14, h = Math.min((wide ? height : height / count) - 56, 1.2 * w);
  const down = wide ? Math.max((height - h - 56) / 2, 0) : 0;
  return CURVES.map((_, k) => ({ w, h, left: (wide ? k * width / count : 0) + gap, top: (wide ? down : k * height / count) + 26 }));
}

// Three panels over temperature, per spin, with the temperature that is set.
function drawCurves(context, width, height) {
  const style = getComputedStyle(document.body), text = style.getPropertyValue("--text"), soft = style.getPropertyValue("--soft");
  const t = state.curves.temperatures, low = Math.log(t[0]), high = Math.log(t[t.length - 1]), places = panels(width, height);
  CURVES.forEach(([name, title], k) => {
    const { w, h, left, top } = places[k], values = state.curves[name];
    const floor = Math.min(...values), roof = Math.max(...values), pad = 0.05 * (roof - floor || 1);
    const least = floor - pad, most = roof + pad, range = most - least;
    const x = value => left + w * (Math.log(value) - low) / (high - low);
    const y = value => top + h - h * (value - least) / range;
    context.strokeStyle = soft;
    context.lineWidth = 1;
    context.strokeRect(left, top, w, h);
    context.fillStyle = text;
    context.font = "13px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(title, left, top - 8);
    context.fillStyle = soft;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    for (const end of [floor, roof]) context.fillText(digits(end, 3), left - 5, y(end) + 4);
    context.textAlign = "center";
    for (const tick of [0.5, 1, 2, 4]) context.fillText(String(tick), x(tick), top + h + 14);
    context.fillText("temperature", left + w / 2, top + h + 27);
    context.strokeStyle = context.fillStyle = DOWN;
    context.lineWidth = 2;
    context.beginPath();
    values.forEach((value, i) => i ? context.lineTo(x(t[i]), y(value)) : context.moveTo(x(t[i]), y(value)));
    context.stroke();
    const now = Math.min(Math.max(temperature(), t[0]), t[t.length - 1]);
    context.strokeStyle = BROKEN;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x(now), top);
    context.lineTo(x(now), top + h);
    context.stroke();
    context.setLineDash([]);
  });
}

function segments(context, edges) {
  const wraps = state.drawn.kind === "torus" ? 0.45 * view.spacing : 0;
  const far = wraps ? 1.5 * view.spacing : Infinity;
  const last = state.drawn.shape ? 2 * state.drawn.shape[0] * state.drawn.shape[1] : 0;
  context.beginPath();
  for (const k of edges) {
    const [u, v] = state.drawn.edges[k];
    const dx = view.x[v] - view.x[u], dy = view.y[v] - view.y[u];
    if (k < last && (Math.abs(dx) > far || Math.abs(dy) > far)) {
      const ex = -Math.sign(Math.round(dx)) * wraps, ey = -Math.sign(Math.round(dy)) * wraps;
      context.moveTo(view.x[u], view.y[u]);
      context.lineTo(view.x[u] + ex, view.y[u] + ey);
      context.moveTo(view.x[v], view.y[v]);
      context.lineTo(view.x[v] - ex, view.y[v] - ey);
    } else {
      context.moveTo(view.x[u], view.y[u]);
      context.lineTo(view.x[v], view.y[v]);
    }
  }
  context.stroke();
}

function drawFaces(context) {
  context.fillStyle = FACE;
  context.globalAlpha = 0.5;
  context.beginPath();
  for (const face of state.drawn.faces) {
    face.forEach((v, k) => k ? context.lineTo(view.x[v], view.y[v]) : context.moveTo(view.x[v], view.y[v]));
    context.closePath();
  }
  context.fill();
  context.globalAlpha = 1;
}

function drawEdges(context, cells) {
  if (cells && view.spacing < 6) return;
  const all = state.drawn.couplings, kept = [[], []];
  all.forEach((J, k) => { if (J !== 0) kept[J < 0 ? 1 : 0].push(k); });
  context.strokeStyle = "#8b949e";
  context.lineWidth = Math.min(Math.max(0.05 * view.spacing, 0.6), 2);
  segments(context, kept[0]);
  context.setLineDash([Math.max(0.13 * view.spacing, 2), Math.max(0.1 * view.spacing, 1.5)]);
  segments(context, kept[1]);
  context.setLineDash([]);
}

function drawState(context, answer) {
  const broken = [], walls = [], ground = answer.view !== "ground-state" && state.groundKey === state.drawnKey ? state.ground : null;
  state.drawn.edges.forEach((edge, k) => {
    const sign = product(answer.spins, edge);
    if (state.drawn.couplings[k] * sign < 0) broken.push(k);
    if (ground && product(ground, edge) !== sign) walls.push(k);
  });
  context.lineCap = "round";
  context.strokeStyle = BROKEN;
  context.lineWidth = Math.min(Math.max(0.17 * view.spacing, 1), 5);
  if (answer.view !== "sample" || view.spacing >= 6) segments(context, broken);
  context.strokeStyle = WALL;
  context.lineWidth = Math.min(Math.max(0.17 * view.spacing, 1.5), 6);
  context.beginPath();
  for (const k of walls) {
    const [u, v] = state.drawn.edges[k];
    let dx = view.x[v] - view.x[u], dy = view.y[v] - view.y[u];
    const length = Math.hypot(dx, dy), midX = view.x[u] + dx / 2, midY = view.y[u] + dy / 2;
    if (length < 1e-9 || (state.drawn.kind === "torus" && length > 1.8 * view.spacing)) continue;
    const half = Math.min(0.5 * length, 0.6 * view.spacing) / length;
    dx *= half; dy *= half;
    context.moveTo(midX - dy, midY + dx);
    context.lineTo(midX + dy, midY - dx);
  }
  context.stroke();
  context.lineCap = "butt";
}

function drawPairs(context, answer) {
  if (answer.nodes !== null && view.spacing < 6) return;
  const groups = HEAT.map(() => []);
  answer.pairs.forEach((p, k) => groups[Math.round(64 * Math.min(Math.max(p, 0), 1))].push(k));
  context.lineWidth = Math.min(Math.max((answer.nodes === null ? 0.45 : 0.2) * view.spacing, 1.5), 12);
  groups.forEach((edges, k) => {
    if (!edges.length) return;
    context.strokeStyle = HEAT[k];
    segments(context, edges);
  });
}

function drawSpins(context, cells) {
  const answer = state.answer, groups = new Map();
  const bare = answer && answer.nodes === null;
  const colour = !answer ? () => "#b9bec4"
    : answer.spins ? v => answer.spins[v] === "+" ? UP : DOWN
    : answer.nodes ? v => heatOf(answer.nodes[v])
    : () => "#b9bec4";
  if (bare && view.spacing < 12) return;
  state.drawn.positions.forEach((_, v) => {
    const name = colour(v);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(v);
  });
  const side = cells ? view.spacing + 0.5 : 0;
  const radius = Math.min(Math.max(0.24 * view.spacing, 1.2), 13);
  for (const [name, spins] of groups) {
    context.fillStyle = name;
    if (cells) {
      for (const v of spins) context.fillRect(view.x[v] - side / 2, view.y[v] - side / 2, side, side);
      continue;
    }
    context.beginPath();
    for (const v of spins) {
      context.moveTo(view.x[v] + radius, view.y[v]);
      context.arc(view.x[v], view.y[v], radius, 0, 2 * Math.PI);
    }
    context.fill();
    if (view.spacing > 9) {
      context.strokeStyle = DARK.matches ? UP : DOWN;
      context.lineWidth = 1;
      context.stroke();
    }
  }
}

function drawMarks(context) {
  const held = state.answer && state.answer.view === "marginals" ? state.answer.held : null;
  for (const v of [held, state.first]) {
    if (v === null || v === undefined) continue;
    context.strokeStyle = WALL;
    context.lineWidth = 3;
    context.beginPath();
    context.arc(view.x[v], view.y[v], Math.min(Math.max(0.42 * view.spacing, 6), 19), 0, 2 * Math.PI);
    context.stroke();
  }
}

function legend() {
  const marginals = state.view === "marginals";
  const items = marginals ? [["scale", "probability of up (spins) and of equal (edges), from 0 to 1"]]
    : state.view === "log-partition" ? [] : [["up", "up"], ["down", "down"]];
  if (curvesShown()) { $("legend").replaceChildren(); return; }
  if (curvesKnown()) items.push(["none", state.curves.reason]);
  if (!marginals && state.drawn && state.drawn.faces.length) items.push(["face", "frustrated face"]);
  const states = !marginals && state.view !== "log-partition";
  if (states && (state.view !== "sample" || view.spacing >= 6)) items.push(["line broken", "unsatisfied edge"]);
  const lines = !marginals && state.drawn && view.spacing >= 6;
  if (lines && state.drawn.couplings.some(J => J < 0)) items.push(["line dashed", "negative coupling"]);
  const known = state.ground && state.groundKey === state.drawnKey;
  if (state.view === "domain-wall" || (state.view === "sample" && known)) items.push(["line wall", "domain wall against the ground state"]);
  $("legend").replaceChildren(...items.map(([kind, text]) => {
    const item = document.createElement("li"), key = document.createElement("span");
    key.className = `key ${kind}`;
    item.append(key, text);
    return item;
  }));
}

// -- what is clicked ---------------------------------------------------------------------------

function nearestSpin(x, y) {
  let best = null, least = Math.max(0.38 * view.spacing, 9) ** 2;
  view.x.forEach((px, v) => {
    const d = (px - x) ** 2 + (view.y[v] - y) ** 2;
    if (d < least) { least = d; best = v; }
  });
  return best;
}

function nearestEdge(x, y) {
  let best = null, least = Math.max(0.3 * view.spacing, 8) ** 2;
  state.drawn.edges.forEach(([u, v], k) => {
    const ax = view.x[u], ay = view.y[u], dx = view.x[v] - ax, dy = view.y[v] - ay;
    const t = Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1), 0), 1);
    const d = (ax + t * dx - x) ** 2 + (ay + t * dy - y) ** 2;
    if (d < least) { least = d; best = k; }
  });
  return best;
}

function setCoupling(u, v, J) {
  const pair = [Math.min(u, v), Math.max(u, v)];
  state.edits = state.edits.filter(edit => edit[0] !== pair[0] || edit[1] !== pair[1]);
  state.edits.push([...pair, J]);
  editsChanged();
}

function editsChanged() {
  const count = state.edits.length;
  $("edits").textContent = !count ? "No edits."
    : `${count} edit${count > 1 ? "s" : ""}, last: J(${state.edits[count - 1][0]}, ${state.edits[count - 1][1]}) = ${digits(state.edits[count - 1][2], 4)}`;
  refresh();
}

function clicked(event) {
  if (!state.drawn || !state.drawn.positions.length || curvesShown()) return;
  const box = $("picture").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top, spin = nearestSpin(x, y);
  if (event.shiftKey || state.join) {
    if (spin === null) return;
    if (state.first === null || state.first === spin) {
      state.first = state.first === spin ? null : spin;
      paint();
    } else {
      const first = state.first;
      state.first = null;
      setCoupling(first, spin, number("edit-j") || 0);
    }
    return;
  }
  if (spin !== null && state.view === "marginals") {
    state.spin = spin;
    refresh();
    return;
  }
  const edge = spin === null || view.spacing < 20 ? nearestEdge(x, y) : null;
  if (edge !== null) setCoupling(...state.drawn.edges[edge], -state.drawn.couplings[edge]);
}

function hovered(event) {
  if (!state.drawn || !state.drawn.positions.length) return;
  const box = $("picture").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  if (curvesShown()) {
    $("readout").textContent = $("picture").title = curvesAt(x, y, box.width, box.height);
    return;
  }
  const spin = nearestSpin(x, y), edge = spin === null ? nearestEdge(x, y) : null, answer = state.answer;
  let text = "\u00a0";
  if (spin !== null) {
    const field = state.drawn.fields ? `, field ${digits(state.drawn.fields[spin], 4)}` : "";
    const value = answer && answer.spins ? `, s = ${answer.spins[spin] === "+" ? "+1" : "−1"}`
      : answer && answer.nodes ? `, P(s = +1) = ${digits(answer.nodes[spin], 4)}` : "";
    text = `spin ${called(spin)}${field}${value}`;
  } else if (edge !== null) {
    const pair = answer && answer.pairs ? `, P(equal) = ${digits(answer.pairs[edge], 4)}` : "";
    text = `edge ${state.drawn.edges[edge].map(called).join("–")}, J = ${digits(state.drawn.couplings[edge], 4)}${pair}`;
  }
  $("readout").textContent = text;
  $("picture").title = text.trim();
}

// What the curves say at the computed temperature next to the pointer.
function curvesAt(x, y, width, height) {
  const t = state.curves.temperatures, low = Math.log(t[0]), high = Math.log(t[t.length - 1]);
  const panel = panels(width, height).find(({ w, h, left, top }) => x >= left && x <= left + w && y >= top && y <= top + h);
  if (!panel) return "\u00a0";
  const at = low + (high - low) * (x - panel.left) / panel.w;
  const k = t.reduce((best, T, i) => Math.abs(Math.log(T) - at) < Math.abs(Math.log(t[best]) - at) ? i : best, 0);
  return `T = ${digits(t[k], 3)}: ${CURVES.map(([name]) => `${name.replace("_", " ")} ${digits(state.curves[name][k], 4)}`).join(", ")} per spin`;
}

// -- what is kept ------------------------------------------------------------------------------

function keep(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  $("kept").textContent = `saved ${name}`;
}

// A context that writes down what a canvas would show: one way to draw, two formats.
class SvgContext {
  constructor() {
    Object.assign(this, { parts: [], path: "", dash: [], fillStyle: "#000", strokeStyle: "#000", lineWidth: 1,
      lineCap: "butt", globalAlpha: 1, font: "12px sans-serif", textAlign: "left" });
  }
  static at(x, y) { return `${x.toFixed(1)} ${y.toFixed(1)}`; }
  setLineDash(dash) { this.dash = dash; }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${SvgContext.at(x, y)}`; }
  lineTo(x, y) { this.path += `L${SvgContext.at(x, y)}`; }
  closePath() { this.path += "Z"; }
  arc(x, y, r) {  // a whole circle, begun where the pen is: at its right
    this.path += `M${SvgContext.at(x + r, y)}a${SvgContext.at(r, r)} 0 1 0 ${SvgContext.at(-2 * r, 0)}a${SvgContext.at(r, r)} 0 1 0 ${SvgContext.at(2 * r, 0)}Z`;
  }
  put(tag, attributes, text = "") {
    const said = Object.entries({ ...attributes, opacity: this.globalAlpha }).map(([name, value]) => ` ${name}="${value}"`);
    this.parts.push(text ? `<${tag}${said.join("")}>${text}</${tag}>` : `<${tag}${said.join("")}/>`);
  }
  fill() { if (this.path) this.put("path", { d: this.path, fill: this.fillStyle }); }
  stroke() {
    const dash = this.dash.length ? { "stroke-dasharray": this.dash.map(x => x.toFixed(1)).join(" ") } : {};
    const line = { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth.toFixed(2), "stroke-linecap": this.lineCap };
    if (this.path) this.put("path", { d: this.path, ...line, ...dash });
  }
  rect(x, y, width, height) { return { x: x.toFixed(1), y: y.toFixed(1), width: width.toFixed(1), height: height.toFixed(1) }; }
  fillRect(...box) { this.put("rect", { ...this.rect(...box), fill: this.fillStyle }); }
  strokeRect(...box) { this.put("rect", { ...this.rect(...box), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth }); }
  fillText(text, x, y) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign], [size] = this.font.split("px");
    this.put("text", { x: x.toFixed(1), y: y.toFixed(1), fill: this.fillStyle, "font-size": size, "font-family": "sans-serif", "text-anchor": anchor }, text);
  }
}

const paper = () => getComputedStyle(document.body).getPropertyValue("--card");

function asSvg() {
  const { clientWidth: width, clientHeight: height } = $("picture"), context = new SvgContext();
  context.fillStyle = paper();
  context.fillRect(0, 0, width, height);
  draw(context, width, height);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${context.parts.join("")}</svg>`;
}

function savePng() {
  const from = $("picture"), canvas = document.createElement("canvas");
  canvas.width = from.width;
  canvas.height = from.height;
  const context = canvas.getContext("2d");
  context.fillStyle = paper();  // else a picture of a dark page is lost on white
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(from, 0, 0);
  canvas.toBlob(blob => keep("model.png", blob));
}

const CALLS = {
  "ground-state": "pl.ground_state(model)", sample: "pl.sample(model.at(1 / T), 1)[0]",
  marginals: "pl.marginals(model.at(1 / T))", "log-partition": "pl.log_partition(model.at(1 / T))",
  "domain-wall": "pl.ground_state(held)",
};

// The wall of the page: the left column as in a ground state, the right one turned over.
const wallAsPython = (rows, columns) => `import numpy as np

site = np.arange(${rows * columns}).reshape(${rows}, ${columns})
sides = [np.c_[column[:-1], column[1:]] for column in (site[:, 0], site[:, -1])]
pairs = np.concatenate([*sides, [(site[0, 0], site[0, -1])]])  # held as in a ground state,
spins = pl.ground_state(model).spins
wanted = spins[pairs[:, 0]] * spins[pairs[:, 1]]
wanted[-1] *= -1  # but the right column turned over
strong = 1 + np.abs(model.couplings).sum()
held = pl.IsingModel(np.concatenate([model.edges, pairs]), np.concatenate([model.couplings, strong * wanted]))
`;

function asPython() {
  const drawn = state.drawn, many = drawn.edges.length > 2000;
  const model = many ? `model = pl.io.read_model("model.${drawn.fields ? "coo" : "edges"}")  # saved by "Model file"`
    : [`edges = ${JSON.stringify(drawn.edges)}`, `couplings = ${JSON.stringify(drawn.couplings)}`,
      drawn.fields ? `fields = ${JSON.stringify(drawn.fields)}` : "fields = None",
      `model = pl.IsingModel(edges, couplings, fields, num_spins=${drawn.positions.length})`].join("\n");
  const held = state.view === "domain-wall" ? wallAsPython(...drawn.shape) : "";
  const wall = held ? "print(model.energy(result.spins) - model.energy(spins))  # what the wall costs\n" : "";
  return `import planaris as pl\n\n${model}\n${held}T = ${temperature()}\nresult = ${CALLS[state.view]}\nprint(result)\n${wall}`;
}

async function saveFile() {
  const body = { source: source(), edits: state.edits, temperature: 1 };
  try {
    const file = await ask("file", body);
    keep(file.name, new Blob([file.text], { type: "text/plain" }));
  } catch (error) {
    $("kept").textContent = error.message;
  }
}

async function copyPython() {
  const text = asPython();
  try {
    await navigator.clipboard.writeText(text);
    $("kept").textContent = "copied";
  } catch {
    keep("model.py", new Blob([text], { type: "text/x-python" }));
  }
}

// -- controls ----------------------------------------------------------------------------------

function labels() {
  const kind = $("kind").value, group = LATTICES.includes(kind) ? "lattice" : kind;
  for (const part of document.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(group);
  }
  const wall = document.querySelector("[data-view=domain-wall]");
  wall.disabled = !OPEN.includes(kind);
  wall.title = wall.disabled ? "for square, triangular and honeycomb lattices" : "";
  const side = number("size"), share = number("negative");
  $("size-out").textContent = kind === "image" ? `longest side ${side}` : `${side} × ${side}`;
  const magnet = $("disorder").value === "ferromagnet";
  $("negative").disabled = magnet;
  $("negative-out").textContent = magnet ? "none"
    : $("disorder").value === "bimodal" ? `${Math.round(100 * share)} % are −1` : `width ${share.toFixed(2)}, mean ${(1 - share).toFixed(2)}`;
  for (const id of ["smoothness", "data", "contrast"]) $(`${id}-out`).textContent = number(id).toFixed(2);
  $("temperature-out").textContent = String(temperature());
}

function modelChanged(delay) {
  state.edits = [];
  state.first = null;
  state.spin = null;
  $("edits").textContent = "No edits.";
  labels();
  refresh(delay);
}

function choose(name) {
  if (name === "sample" && state.view === "sample") state.sampleSeed += 1;
  state.view = name;
  for (const button of document.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === name));
  }
  refresh();
}

function complain(text) {
  clearTimeout(timer);
  show(null, text);
}

async function useImage() {
  const file = $("image-file").files[0];
  if (!file) return;
  try {
    state.picture = await createImageBitmap(file);
    preview();
    modelChanged(0);
  } catch {
    complain("this file is not an image that the browser can read");
  }
}

async function useEdgeFile() {
  const file = $("edge-file").files[0];
  if (!file) return;
  if (file.size > 1000000) { complain("an edge list has at most 1,000,000 bytes here"); return; }
  $("edge-text").value = state.text = await file.text();
  modelChanged(0);
}

function listen() {
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => choose(button.dataset.view));
  }
  $("kind").addEventListener("change", () => {
    if (state.view === "domain-wall" && !OPEN.includes($("kind").value)) {
      choose("ground-state");  // walls are for plane lattices
    }
    if ($("kind").value === "image") {
      $("size").value = String(Math.max(number("size"), 64));
      preview();
    }
    modelChanged(0);
  });
  $("disorder").addEventListener("change", () => modelChanged(0));
  $("size").addEventListener("input", () => modelChanged(120));
  for (const id of ["negative", "seed"]) {
    $(id).addEventListener("input", () => { labels(); refresh(120); });
  }
  for (const id of ["temperature", "smoothness", "data", "contrast"]) {
    $(id).addEventListener("input", () => { labels(); refresh(120); });
  }
  $("new-seed").addEventListener("click", () => {
    $("seed").value = String(1 + Math.floor(Math.random() * 999999));
    refresh();
  });
  $("image-file").addEventListener("change", useImage);
  $("edge-file").addEventListener("change", useEdgeFile);
  $("use-edges").addEventListener("click", () => { state.text = $("edge-text").value; modelChanged(0); });
  $("set-edge").addEventListener("click", () => setCoupling(
    Math.trunc(number("edit-u")), Math.trunc(number("edit-v")), number("edit-j") || 0));
  $("join").addEventListener("click", () => {
    state.join = !state.join;
    state.first = null;
    $("join").setAttribute("aria-pressed", String(state.join));
    paint();
  });
  $("undo").addEventListener("click", () => { state.edits.pop(); editsChanged(); });
  $("clear").addEventListener("click", () => { state.edits = []; editsChanged(); });
  $("panel").addEventListener("submit", event => event.preventDefault());
  $("picture").addEventListener("click", clicked);
  $("picture").addEventListener("pointermove", hovered);
  $("save-png").addEventListener("click", savePng);
  $("save-svg").addEventListener("click", () => keep("model.svg", new Blob([asSvg()], { type: "image/svg+xml" })));
  $("save-file").addEventListener("click", saveFile);
  $("copy-python").addEventListener("click", copyPython);
  DARK.addEventListener("change", () => { DOWN = DARK.matches ? "#4f83bd" : "#2c4a6e"; paint(); });
  new ResizeObserver(() => paint()).observe($("picture"));
}

$("edge-text").value = EXAMPLE;
listen();
modelChanged(0);
