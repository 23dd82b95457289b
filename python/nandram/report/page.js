// Draws the charts of the page and gives each its controls. Without a network: vegaEmbed is above.
"use strict";
const charts = [];

function has(view, name) {
  return name in view.getState().signals;
}

// The part of an axis that is seen, as the chart's own zoom has it.
function zoom(view, factor) {
  for (const axis of ["x", "y"]) {
    if (!has(view, "zoom_" + axis)) continue;
    if (factor === null) { view.signal("zoom_" + axis, null); continue; }
    const scale = view.scale(axis);
    if (!scale || typeof scale.invert !== "function") continue;
    const [from, to] = scale.range(), middle = (from + to) / 2, half = (to - from) / 2 * factor;
    view.signal("zoom_" + axis, [scale.invert(middle - half), scale.invert(middle + half)]);
  }
  return view.runAsync();
}

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv(table) {
  const quoted = (cell) => (/[",\n]/.test(cell) ? '"' + cell.replaceAll('"', '""') + '"' : cell);
  return [...table.rows].map((row) => [...row.cells].map((cell) => quoted(cell.textContent)).join(",") + "\n").join("");
}

function button(tools, text, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  tools.insertBefore(made, tools.querySelector("details"));
}

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const place = figure.querySelector(".plot"), tools = figure.querySelector(".tools"), title = figure.dataset.name;
  const { view } = await vegaEmbed(place, spec, { renderer: "svg", actions: false, tooltip: { theme: "custom" }, ast: false });
  charts.push({ title, view });
  if (has(view, "zoom_x") || has(view, "zoom_y")) {
    button(tools, "+", "Zoom in: " + title, () => zoom(view, 0.6));
    button(tools, "\u2212", "Zoom out: " + title, () => zoom(view, 1 / 0.6));
    button(tools, "Reset", "Show all: " + title, () => zoom(view, null));
  }
  button(tools, "SVG", "Save the chart: " + title, async () => save(figure.id + ".svg", "image/svg+xml", await view.toSVG()));
  const table = tools.querySelector("table");
  if (table) button(tools, "CSV", "Save the data: " + title, () => save(figure.id + ".csv", "text/csv", csv(table)));
  const boxes = [...figure.querySelectorAll(".series input")];
  for (const box of boxes) {
    box.addEventListener("change", () => {
      view.signal("hidden", boxes.filter((each) => !each.checked).map((each) => each.value)).runAsync();
    });
  }
}

(async () => {
  for (const figure of document.querySelectorAll("figure[data-name]")) {
    await draw(figure);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  document.documentElement.dataset.drawn = String(charts.length);
})();
// A page is narrower or wider printed than on a screen: the charts follow.
for (const event of ["beforeprint", "afterprint"]) {
  addEventListener(event, () => { for (const { view } of charts) view.resize().run(); });
}
