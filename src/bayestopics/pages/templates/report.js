// The report: parts that are shown one at a time, charts by plotly, the browser of topics, and the search.
// Texts of the corpus become text nodes, never markup; plotly knows some tags, so `plain` escapes what it is given.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const percent = (x, digits = 1) => `${(100 * x).toFixed(digits)} %`;
const plain = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const table = (place, head, rows) => {
  const cells = (row, tag, scope) => make("tr", {}, ...row.map((cell, number) =>
    number === 0 || tag === "th" ? make("th", { scope: scope }, cell) : make("td", {}, cell)));
  at(place).replaceChildren(make("table", {}, make("thead", {}, cells(head, "th", "col")),
    make("tbody", {}, ...rows.map(row => cells(row, "td", "row")))));
};
const topicLink = (topic, text) => make("a", { href: `#topics/${topic}` }, text ?? `topic ${topic}`);
const commas = parts => parts.flatMap((part, number) => number ? [", ", part] : [part]);

// -- charts ---------------------------------------------------------------------------------------------

let printing = false;
const OWN = "#0072B2", OTHER = "rgba(128, 128, 128, 0.4)", MARKED = "#D55E00";
function draw(id, traces, layout) {
  const common = {
    margin: { l: 60, r: 15, t: 10, b: 45 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif" }, hoverlabel: { font: { color: "#fff" }, bgcolor: "#333" },
    showlegend: traces.length > 1, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, dragmode: false,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: "#888", activecolor: OWN },
  };
  const narrow = at(id).clientWidth < 480;
  const buttons = [["toImage"]];
  const axes = { xaxis: { automargin: true, ...layout.xaxis }, yaxis: { automargin: true, ...layout.yaxis } };
  const font = { ...common.font, size: narrow ? 11 : 13 };
  const size = printing ? { width: at(id).clientWidth, height: at(id).clientHeight } : { autosize: true };
  return Plotly.react(id, traces, { ...common, ...layout, ...axes, font, ...size },
    { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover", modeBarButtons: buttons });
}

function drawTerms() {
  const weight = Number(at("lambda").value), terms = data.terms, topic = shown.topic;
  at("lambda-value").value = `λ = ${weight.toFixed(2)}`;
  const rows = terms.topics[topic].map((term, number) => {
    const beta = terms.beta[topic][number], count = terms.counts[term];
    const relevance = Math.log(beta) - (1 - weight) * Math.log(Math.max(count, 1) / terms.tokens);
    const here = Math.min(beta * data.share[topic] * terms.tokens, count);
    return { name: terms.names[term], beta, count, relevance, here };
  }).sort((a, b) => b.relevance - a.relevance).slice(0, data.shown_terms);
  const y = rows.map((_, number) => -number);
  const told = rows.map(row => `${plain(row.name)}: about ${row.here.toFixed(0)} of ${row.count.toLocaleString("en")} ` +
    `times in this topic; probability ${row.beta.toPrecision(2)}`);
  const bar = { type: "bar", orientation: "h", y, hoverinfo: "text", hovertext: told };
  draw("chart-terms", [
    { ...bar, name: "in all documents", x: rows.map(row => row.count), marker: { color: OTHER } },
    { ...bar, name: "in this topic", x: rows.map(row => row.here), marker: { color: OWN } },
  ], {
    barmode: "overlay", bargap: 0.25, margin: { l: 130, r: 10, t: 30, b: 40 },
    xaxis: { title: { text: "number of occurrences" }, nticks: 5, rangemode: "tozero" },
    yaxis: { tickvals: y, ticktext: rows.map(row => plain(cut(row.name, 18))), range: [-rows.length + 0.4, 0.6] },
  });
  table("table-terms", ["word", "in this topic", "in all documents", "probability in this topic"],
    rows.map(row => [row.name, row.here.toFixed(0), String(row.count), row.beta.toPrecision(3)]));
}
const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

function drawMap() {
  const topics = data.order, many = topics.length > 40, stable = topic => data.trust[topic]?.stable ?? true;
  const colours = topics.map(topic => topic === shown.topic ? MARKED : OWN);
  draw("chart-map", [{
    type: "scatter", mode: "markers+text", x: topics.map(t => data.map[t][0]), y: topics.map(t => data.map[t][1]),
    text: topics.map(t => many && t !== shown.topic ? "" : String(t)), customdata: topics, textfont: { size: 12 }, hoverinfo: "text",
    hovertext: topics.map(t => `topic ${t}: ${plain(data.names[t])}<br>${percent(data.share[t])} of the words`),
    marker: {
      size: topics.map(t => (many ? 6 : 14) + 90 * Math.sqrt(data.share[t])), opacity: 0.75, color: colours,
      symbol: topics.map(t => stable(t) ? "circle" : "circle-open"), line: { width: 2, color: colours },
    },
  }], { xaxis: hiddenAxis, yaxis: { ...hiddenAxis, scaleanchor: "x" }, margin: { l: 5, r: 5, t: 5, b: 5 } });
  const chart = at("chart-map");
  chart.removeAllListeners("plotly_click");
  chart.on("plotly_click", event => { location.hash = `#topics/${event.points[0].customdata}`; });
  table("table-map", ["topic", "words", "distance (0: same words, 1: no word in common)"],
    data.nearest[shown.topic].map(([topic, distance]) => [topicLink(topic), data.names[topic], distance.toFixed(2)]));
}
const hiddenAxis = { showticklabels: false, showgrid: false, zeroline: true, ticks: "" };

function drawPrevalence() {
  if (!at("column")) return;
  const column = data.columns[Number(at("column").value)], topic = shown.topic;
  const rows = column.labels.map((label, number) => ({
    label, documents: column.documents[number], mean: column.mean[topic][number], half: column.half[topic][number] ?? 0,
  }));  // a period without documents is a gap
  const ends = row => row.half ? `${percent(Math.max(0, row.mean - row.half))} to ${percent(Math.min(1, row.mean + row.half))}`
    : "unknown (one document)";
  const told = rows.map(row => `${plain(row.label)}: ${percent(row.mean ?? 0)}<br>${ends(row)}<br>${row.documents} documents`);
  const errors = {
    type: "data", symmetric: false, array: rows.map(row => Math.min(row.half, 1 - row.mean)),
    arrayminus: rows.map(row => Math.min(row.half, row.mean)), color: OWN, thickness: 1.5,
  };
  const common = { type: "scatter", hoverinfo: "text", hovertext: told, marker: { color: OWN, size: 8 } };
  const shares = { title: { text: "mean share of the topic" }, tickformat: ".0%", rangemode: "tozero", nticks: 6 };
  const chart = at("chart-prevalence");
  if (column.kind === "dates") {
    chart.style.height = "";
    draw(chart.id, [{ ...common, mode: "lines+markers", line: { color: OWN, width: 1 }, x: rows.map(row => row.label),
      y: rows.map(row => row.mean), error_y: errors }],
      { xaxis: { type: "category", title: { text: `${plain(column.column)} (${column.note})`, standoff: 12 }, nticks: 12 },
        yaxis: shares, margin: { l: 60, r: 15, t: 10, b: 60 } });
  } else {
    const y = rows.map((_, number) => -number);
    chart.style.height = `${6 + 1.7 * rows.length}em`;
    draw(chart.id, [{ ...common, mode: "markers", x: rows.map(row => row.mean), y, error_x: errors }],
      { xaxis: shares, margin: { l: 150, r: 15, t: 10, b: 45 },
        yaxis: { tickvals: y, ticktext: rows.map(row => plain(cut(row.label, 22))), range: [-rows.length + 0.3, 0.7] } });
  }
  table("table-prevalence", [column.column, "documents", "mean share", "95 % interval"],
    rows.filter(row => row.documents > 0).map(row => [row.label, String(row.documents), percent(row.mean), ends(row)]));
}

// -- topics ---------------------------------------------------------------------------------------------

const shown = { part: "answer", topic: data.order[0], drawn: new Set() };
function showTopic() {
  const topic = shown.topic, trust = data.trust[topic], place = data.order.indexOf(topic);
  at("topic").value = String(topic);
  at("previous").disabled = place === 0;
  at("next").disabled = place === data.order.length - 1;
  at("topic-title").textContent = `Topic ${topic}: ${data.names[topic]}`;
  const found = trust ? ` It was found by ${trust.chains} of the chains, with a similarity of ${trust.similarity.toFixed(2)}` +
    (trust.stable ? "." : ", so it is unstable: do not rely on it.") : "";
  at("topic-about").textContent = `It has ${percent(data.share[topic])} of the words.${found}`;
  at("examples").replaceChildren(...data.documents.examples[topic].map(documentItem));
  drawTerms();
  drawMap();
  drawPrevalence();
}

function documentItem(number) {
  const own = data.documents;
  const topics = own.best[number].map((topic, place) => [topic, own.best_shares[number][place]])
    .filter(([, share], place) => share >= 0.02 || place === 0)
    .map(([topic, share]) => make("span", {}, topicLink(topic), ` ${percent(share, 0)}`));
  return make("li", {}, make("strong", {}, own.titles[number]),
    make("p", { className: "about" }, [own.about[number], `${own.tokens[number]} words`].filter(Boolean).join("; ")),
    ...(own.texts?.[number] ? [make("p", {}, own.texts[number])] : []), make("p", {}, ...commas(topics)));
}

// -- search ---------------------------------------------------------------------------------------------

const MOST = 20;
function search() {
  const query = at("query").value.trim().toLowerCase(), terms = data.terms, own = data.documents;
  const rank = name => name === query ? 0 : name.startsWith(query) ? 1 : 2;
  const words = query === "" ? [] : terms.names.map((name, term) => [name.toLowerCase(), term])
    .filter(([name]) => name.includes(query))
    .sort((a, b) => rank(a[0]) - rank(b[0]) || terms.counts[b[1]] - terms.counts[a[1]]);
  const documents = query === "" ? [] : own.titles.map((_, number) => number)
    .filter(number => [own.titles[number], own.about[number], own.texts?.[number] ?? ""].join(" ").toLowerCase().includes(query));
  const more = found => found.length > MOST ? ` (the first ${MOST} are shown)` : "";
  at("found").textContent = query === "" ? "" :
    `${words.length} words${more(words)} and ${documents.length} documents${more(documents)} were found.`;
  table("found-words", ["word", "occurrences", "topics"], words.slice(0, MOST).map(([, term]) => [
    terms.names[term], String(terms.counts[term]),
    make("span", {}, ...commas(terms.best[term].map((topic, place) =>
      make("span", {}, topicLink(topic, `topic ${topic} (${data.names[topic]})`), ` ${percent(terms.best_shares[term][place], 0)}`)))),
  ]));
  at("found-documents").replaceChildren(...documents.slice(0, MOST).map(documentItem));
}

// -- parts of the page ----------------------------------------------------------------------------------

const parts = [...document.querySelectorAll("section")].map(section => section.id);
function drawPart(part) {
  for (const [name, chart] of Object.entries(data.charts)) {
    if (at(part).contains(at(`chart-${name}`))) draw(`chart-${name}`, chart.traces, chart.layout);
  }
  if (part === "topics") showTopic();
}
function show() {
  const [part, topic] = location.hash.slice(1).split("/");
  const moved = shown.part !== part;
  if (parts.includes(part)) shown.part = part;
  if (topic !== undefined && data.order.includes(Number(topic))) shown.topic = Number(topic);
  for (const one of parts) {
    at(one).hidden = one !== shown.part;
    at(`tab-${one}`).setAttribute("aria-selected", String(one === shown.part));
    at(`tab-${one}`).tabIndex = one === shown.part ? 0 : -1;
  }
  drawPart(shown.part);
  if (moved && parts.includes(part)) window.scrollTo(0, 0);
}
document.querySelector("nav").addEventListener("keydown", event => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = parts[(parts.indexOf(shown.part) + step + parts.length) % parts.length];
  location.hash = `#${next}`;
  at(`tab-${next}`).focus();
});
const step = by => { location.hash = `#topics/${data.order[data.order.indexOf(shown.topic) + by]}`; };
at("previous").addEventListener("click", () => step(-1));
at("next").addEventListener("click", () => step(1));
at("topic").addEventListener("change", event => { location.hash = `#topics/${event.target.value}`; });
at("lambda").addEventListener("input", drawTerms);
at("column")?.addEventListener("change", drawPrevalence);
at("query").addEventListener("input", search);
for (const form of document.forms) form.addEventListener("submit", event => event.preventDefault());
window.addEventListener("hashchange", show);
window.addEventListener("beforeprint", () => {
  printing = true;
  document.body.style.width = "660px";  // a page, so that the charts fit on it
  for (const part of parts) { at(part).hidden = false; drawPart(part); }
});
window.addEventListener("afterprint", () => {
  printing = false;
  document.body.style.width = "";
  show();
});
document.documentElement.classList.add("scripted");
search();
show();
})();
