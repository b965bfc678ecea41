// Opens pages of `tunerun report` in Chromium and says as JSON what is wrong with them: node look.mjs OUT NAME=FILE...
// Nothing is fetched: the pages load nothing, and whatever asks for something is told.
import { mkdtempSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The modules lie beside what is built, not beside this file.
const require = createRequire(join(process.env.TUNERUN_PAGE_MODULES, "look.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [out, ...pages] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const profile = mkdtempSync(join(tmpdir(), "tunerun-page-"));
const flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: "/usr/bin/chromium", headless: true, args: flags.split(" "),
});

// How many colours a screenshot holds, up to 50: one is a blank page.
async function colours(png) {
  const page = await browser.newPage();
  const count = await page.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, Math.min(image.height, 3000));
    const brush = canvas.getContext("2d");
    brush.drawImage(image, 0, 0);
    const pixels = new Uint32Array(brush.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const seen = new Set();
    for (const pixel of pixels) if (seen.add(pixel).size >= 50) break;
    return seen.size;
  }, png.toString("base64"));
  await page.close();
  return count;
}

// What the Tab key reaches, in order, from the top of the page.
async function stops(page) {
  const reached = [];
  for (let at = 0; at < 400; at++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const own = document.activeElement;
      if (!own || own === document.body) return null;
      const outline = getComputedStyle(own).outlineStyle;
      return { tag: own.tagName.toLowerCase(), text: own.textContent.trim().slice(0, 60), shown: outline !== "none" };
    });
    if (!stop) break;
    reached.push(stop);
  }
  return reached;
}

async function keyboard(page) {
  const reached = await stops(page);
  const summaries = await page.locator("summary:visible").count();
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const skipped = await page.evaluate(() => document.activeElement.id);
  const first = page.locator("details:not([open]) > summary").first();
  let toggles = null;
  if (await first.count()) {
    const own = await first.elementHandle();
    await own.focus();
    await page.keyboard.press("Enter");
    toggles = await own.evaluate((summary) => summary.parentElement.open);
  }
  return { reached, summaries, skipped, toggles };
}

async function look(name, file, scheme, width) {
  const page = await browser.newPage();
  const told = { name, scheme, width, console: [], requests: [] };
  page.on("console", (said) => ["error", "warning"].includes(said.type()) && told.console.push(said.text()));
  page.on("pageerror", (error) => told.console.push(String(error)));
  page.on("request", (asked) => {
    const url = asked.url();
    if (url !== pathToFileURL(file).href && !url.startsWith("data:")) told.requests.push(url);
  });
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await page.goto(pathToFileURL(file).href);
  const base = join(out, `${name}-${scheme}-${width}`);
  told.colours = await colours(await page.screenshot({ path: `${base}.png`, fullPage: true }));
  told.keyboard = await keyboard(page);
  // From here on all is open: what is folded must hold as well.
  await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
  told.wide = await page.evaluate(() => {
    const root = document.documentElement;
    // What is moved sideways by itself, or is for screen readers alone, is not beyond the page.
    const out = [...document.querySelectorAll("body *")].filter((own) => {
      return !own.closest(".scroll, .out, .skip, svg") && own.getBoundingClientRect().right > root.clientWidth + 1;
    });
    return { page: root.scrollWidth, view: root.clientWidth, out: out.slice(0, 5).map((own) => own.outerHTML.slice(0, 120)) };
  });
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  told.violations = found.violations.map((one) => {
    return { id: one.id, help: one.help, at: one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`) };
  });
  told.passes = found.passes.length;
  await page.screenshot({ path: `${base}-open.png`, fullPage: true });
  told.title = await page.title();
  told.headings = await page.evaluate(() => [...document.querySelectorAll("h1, h2, h3")].map((own) => `${own.tagName} ${own.textContent}`));
  told.injected = await page.evaluate(() => document.querySelectorAll("script, iframe, img, object, embed").length);
  await page.close();
  return told;
}

async function printed(name, file) {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(file).href);
  const pdf = await page.pdf({ path: join(out, `${name}.pdf`), format: "A4" });
  const pages = (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length;
  const closed = await page.evaluate(() => document.querySelectorAll("details[open]").length);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 794, height: 1123 });
  await page.screenshot({ path: join(out, `${name}-print.png`), fullPage: true });
  await page.close();
  return { name, pages, bytes: pdf.length, openAfterwards: closed };
}

const told = { looks: [], prints: [] };
try {
  for (const page of pages) {
    const [name, file] = page.split("=");
    for (const scheme of ["light", "dark"]) {
      for (const width of [1280, 375]) told.looks.push(await look(name, file, scheme, width));
    }
    told.prints.push(await printed(name, file));
  }
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
console.log(JSON.stringify(told));
