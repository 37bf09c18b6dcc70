// The tab "Watch it reason": the passes of the reasoner as a film, with soft T_P's objections in colour.
import {neededFor} from './solve.js';

const byId = (id) => document.getElementById(id);
const dark = matchMedia('(prefers-color-scheme: dark)');
const CELL = 58, LEFT = 9, TOP = 78;

export function startReason(engine, solve) {
  const films = {best: null, paper: null};
  let paperLoaded = false, timer = null, stale = true;
  solve.onchange(() => { stale = true; });

  // From paper to red as the residual goes from 0 to 1.
  const objection = (residual) => `rgba(200, 40, 20, ${Math.min(0.85, residual)})`;

  function draw(key) {
    const film = films[key];
    if (!film) return;
    const canvas = byId('film-' + key), context = canvas.getContext('2d');
    const k = Math.min(+byId('pass').value, film.frames.length - 1), frame = film.frames[k];
    const ink = dark.matches ? '230, 232, 235' : '20, 24, 30';
    context.clearRect(0, 0, canvas.width, canvas.height);
    // One square per group, a row of them per family.
    const families = [...new Set(film.groups.map((group) => group.family))];
    context.font = '13px system-ui, sans-serif';
    context.textBaseline = 'middle';
    families.forEach((family, f) => {
      context.fillStyle = `rgb(${ink})`;
      context.fillText(family, LEFT, 12 + 24 * f);
      film.groups.forEach((group, g) => {
        if (group.family !== family) return;
        const column = film.groups.slice(0, g).filter((other) => other.family === family).length;
        context.strokeStyle = `rgba(${ink}, .4)`;
        context.fillStyle = objection(frame.residuals[g]);
        context.fillRect(90 + 48 * column, 2 + 24 * f, 44, 19);
        context.strokeRect(90.5 + 48 * column, 2.5 + 24 * f, 43, 18);
      });
    });
    // The board: each cell in the colour of the largest objection to it, its digits as bars.
    const worst = new Map();
    film.groups.forEach((group, g) => group.positions.forEach((name) =>
      worst.set(name, Math.max(worst.get(name) ?? 0, frame.residuals[g]))));
    film.cells.forEach((cell, i) => {
      const x = LEFT + CELL * (i % 9), y = TOP + CELL * Math.floor(i / 9);
      context.fillStyle = objection(0.6 * worst.get(cell.position));
      context.fillRect(x, y, CELL, CELL);
      const beliefs = frame.beliefs.slice(9 * i, 9 * i + 9), most = Math.max(...beliefs);
      beliefs.forEach((belief, s) => {
        const decided = belief === most && belief > 230;
        context.fillStyle = `rgba(${ink}, ${decided ? 1 : 0.08 + 0.9 * belief / 255})`;
        context.font = decided ? '600 34px system-ui, sans-serif' : '14px system-ui, sans-serif';
        context.textAlign = 'center';
        if (decided) context.fillText(cell.symbols[s], x + CELL / 2, y + CELL / 2 + 1);
        else if (most <= 230) context.fillText(cell.symbols[s], x + 12 + 17 * (s % 3), y + 12 + 17 * Math.floor(s / 3));
      });
      context.textAlign = 'start';
      if (cell.seen) {
        context.fillStyle = `rgb(${ink})`;
        context.fillRect(x + 4, y + CELL - 6, CELL - 8, 2);
      }
    });
    for (let line = 0; line <= 9; ++line) {
      context.fillStyle = `rgba(${ink}, ${line % 3 ? 0.35 : 1})`;
      const width = line % 3 ? 1 : 2;
      context.fillRect(LEFT + CELL * line - width / 2, TOP, width, 9 * CELL);
      context.fillRect(LEFT, TOP + CELL * line - width / 2, 9 * CELL, width);
    }
    const largest = Math.max(...frame.residuals), broken = frame.residuals.filter((r) => r > 0.1).length;
    const name = key === 'best' ? 'Our reasoner' : "The paper's Transformer";
    const unit = key === 'best' ? 'pass' : 'layer';
    byId('caption-' + key).textContent = `${name}: ${k === 0 ? 'what was read' : `${unit} ${k} of ${film.frames.length - 1}`}, ` +
      `largest residual ${largest.toFixed(2)}, ` + (broken ? `${broken} groups violated` : 'no group violated');
    canvas.setAttribute('aria-label', byId('caption-' + key).textContent);
  }

  function drawAll() {
    draw('best');
    draw('paper');
  }

  async function load() {
    if (!solve.board) {
      byId('caption-best').textContent = 'Solve a board first: choose a picture or an example in the first tab.';
      return;
    }
    if (!stale) return;
    stale = false;
    const {cells} = solve.board;  // the one that the film is about, whatever is solved meanwhile
    films.best = {...await engine.call('film', {model: 'sudoku-best'}), cells};
    if (films.best.error) {
      byId('caption-best').textContent = films.best.error;
      films.best = null;
      return;
    }
    if (paperLoaded) films.paper = {...await engine.call('film', {model: 'sudoku-paper'}), cells};
    byId('pass').max = Math.max(films.best.frames.length, films.paper?.frames.length ?? 0) - 1;
    byId('pass').value = 0;
    drawAll();
  }

  const step = (by) => {
    const slider = byId('pass');
    slider.value = +slider.value + by;
    drawAll();
    return +slider.value < +slider.max;
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    byId('play').textContent = 'Play';
  };
  byId('play').onclick = () => {
    if (timer) return stop();
    if (+byId('pass').value === +byId('pass').max) byId('pass').value = 0;
    byId('play').textContent = 'Pause';
    timer = setInterval(() => step(1) || stop(), 350);
  };
  byId('back').onclick = () => step(-1);
  byId('forth').onclick = () => step(1);
  byId('pass').oninput = drawAll;
  dark.onchange = drawAll;
  byId('paper').onclick = async () => {
    const button = byId('paper');
    button.disabled = true;
    button.textContent = 'Loading …';
    const opened = await engine.call('open', {model: 'sudoku-paper'}, {needed: neededFor('sudoku-paper')});
    if (opened.error) {
      button.disabled = false;
      button.textContent = 'Try again: ' + opened.error;
      return;
    }
    button.hidden = true;
    paperLoaded = true;
    byId('figure-paper').hidden = false;
    stale = true;
    await load();
  };
  return load;
}
