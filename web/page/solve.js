// The tab "Solve": a picture, what was read in it, the answer, and corrections that everything follows.
import {Perspective} from './perspective.js';

const byId = (id) => document.getElementById(id);
const percent = (p) => (p > 0.9999 ? '> 99.99' : p < 0.0001 ? '< 0.01' : (100 * p).toFixed(2)) + ' %';
const MODEL = 'sudoku-best';
const CELL = 100;  // a cell's side as it is laid out, before it is seen in perspective
// The network that reads the cells of boards with lines, loaded with the first picture.
export const neededForCells = ['models/cells-best.safetensors', 'models/cells-best.json', 'programs/cell.as2c'];
export const neededFor = (model) => [`models/${model}.safetensors`, `models/${model}.json`, 'programs/sudoku.as2c',
  'programs/sudoku.lp'];

export function startSolve(engine) {
  let board = null;     // the last document
  let picture = null;   // ImageBitmap
  let selected = -1;
  const listeners = [];

  const place = (k) => `row ${Math.floor(k / 9) + 1}, column ${k % 9 + 1}`;
  const fail = (message) => {
    byId('error').hidden = !message;
    byId('error').textContent = message ?? '';
  };

  const ready = engine.call('open', {model: MODEL}, {needed: neededFor(MODEL)}).then((document_) => {
    byId('state').textContent = document_.error ? 'The networks could not be loaded: ' + document_.error : '';
    document.documentElement.dataset.ready = document_.error ? 'failed' : 'yes';
    return !document_.error;
  });

  // The picture's bytes as they are, if the runtime can read them; else through the browser's own decoder.
  async function open(blob) {
    if (!await ready) return;
    fail();
    let bytes = new Uint8Array(await blob.arrayBuffer());
    try {
      picture = await createImageBitmap(blob);
    } catch {
      board = null;
      draw();
      fail('This file is not a picture that the browser can show.');
      return;
    }
    const opaque = (bytes[0] === 0xff && bytes[1] === 0xd8) || (bytes[0] === 0x42 && bytes[1] === 0x4d);
    const known = bytes[0] === 0x89 || opaque;
    const most = 2000;  // pixels a side; phones take more than helps
    const scale = Math.min(1, most / Math.max(picture.width, picture.height));
    if (!opaque || scale < 1) {
      const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale));
      const context = canvas.getContext('2d');
      context.fillStyle = 'white';  // behind what is transparent, as the runtime has it
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(picture, 0, 0, canvas.width, canvas.height);
      picture = await createImageBitmap(canvas);
      if (!known || scale < 1)
        bytes = new Uint8Array(await (await canvas.convertToBlob({type: 'image/png'})).arrayBuffer());
    }
    selected = -1;
    await engine.call('need', {}, {needed: neededForCells});
    const start = performance.now();
    byId('detail').hidden = true;
    take(await engine.call('solve', {file: '/picture', model: MODEL}, {picture: bytes}), start);
    const change = board?.changed[0];
    if (change) select(board.cells.findIndex((cell) => cell.position === change.position));
  }

  // Light ink on dark paper, or the reverse: digits are written so that they can be read.
  function onDark() {
    const small = new OffscreenCanvas(16, 16), context = small.getContext('2d');
    context.drawImage(picture, 0, 0, 16, 16);
    const {data} = context.getImageData(0, 0, 16, 16);
    return data.reduce((sum, value, k) => k % 4 === 1 ? sum + value : sum, 0) / 256 < 110;
  }

  function take(document_, start) {
    const milliseconds = performance.now() - start;
    board = document_.cells ? document_ : null;
    if (board) board.wall = milliseconds;
    fail(document_.error?.replace('/picture: error: ', ''));
    draw();
    for (const listener of listeners) listener();
  }

  async function correct(k, value) {
    const start = performance.now();
    take(await engine.call('again', {corrections: {[board.cells[k].position]: value}}), start);
    byId('cells').children[k]?.focus();
  }

  // Why the rules changed what was read, in words.
  function reason(change) {
    const at = board.cells.findIndex((cell) => cell.position === change.position);
    for (const group of board.groups.filter((own) => own.positions.includes(change.position))) {
      const other = group.positions.find((name) => name !== change.position && board.read[name] === change.read);
      if (!other) continue;
      const where = board.cells.findIndex((cell) => cell.position === other);
      const name = {rows: `row ${Math.floor(at / 9) + 1}`, columns: `column ${at % 9 + 1}`,
        boxes: 'its box'}[group.family] ?? group.family;
      return `${name} already has a ${change.read} (${place(where)})`;
    }
    return `with a ${change.read} here there is no solution`;
  }

  const readAt = (k) => board.read[board.cells[k].position];
  const answerAt = (k) => board.assignment?.[board.cells[k].position];
  const entryAt = (k) => board.entries?.find((entry) => entry.position === board.cells[k].position);

  // Cells are laid out in the picture's pixels, whatever size it is shown in.
  const fit = () => {
    const canvas = byId('picture');
    byId('cells').style.transform = `scale(${canvas.clientWidth / canvas.width})`;
  };
  new ResizeObserver(fit).observe(byId('picture'));

  function draw() {
    const canvas = byId('picture');
    if (picture) {
      canvas.width = picture.width;
      canvas.height = picture.height;
      canvas.getContext('2d').drawImage(picture, 0, 0);
    }
    const cells = byId('cells');
    if (!board) {
      cells.replaceChildren();
      byId('summary').textContent = picture ? 'No board was found in this picture.' : '';
      byId('changes').replaceChildren();
      byId('detail').hidden = byId('save').hidden = true;
      return;
    }
    if (cells.children.length !== board.cells.length) {
      cells.replaceChildren(...board.cells.map((_, k) => {
        const button = document.createElement('button');
        button.onclick = () => select(k);
        button.onmouseenter = () => describe(k);
        button.onmouseleave = () => selected >= 0 && describe(selected);
        button.onkeydown = (event) => {
          const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -9, ArrowDown: 9}[event.key];
          if (step !== undefined && cells.children[k + step]) {
            event.preventDefault();
            cells.children[k + step].focus();
          } else if (board.cells[k].symbols.includes(event.key)) {
            correct(k, event.key);
          } else if (event.key === 'Delete' || event.key === 'Backspace') {
            correct(k, '');
          }
        };
        button.onfocus = () => select(k);
        return button;
      }));
    }
    cells.classList.toggle('on-dark', onDark());
    fit();
    const changed = new Map(board.changed.map((change) => [change.position, change]));
    board.cells.forEach((cell, k) => {
      const button = cells.children[k];
      button.style.transform = new Perspective(CELL, cell.corners).css;
      const read = readAt(k), answer = answerAt(k), change = changed.get(cell.position), entry = entryAt(k);
      const overridden = cell.corrected || change;
      button.textContent = entry ? (entry.right ? '' : answer) :
        (read === undefined || overridden) ? answer ?? (cell.corrected ? read : '') : '';
      button.className = [change ? 'changed' : '', cell.corrected ? 'corrected' : '', entry && !entry.right ? 'wrong' : '',
        cell.seen && Math.max(...cell.seen) < 0.9 ? 'unsure' : ''].join(' ').trim();
      button.setAttribute('aria-label', `${place(k)}: ` + (cell.corrected ? `you said ${read}` :
        entry ? `a handwritten ${entry.read}, ${entry.right ? 'right' : 'wrong'}` :
          read === undefined ? 'blank' : `read ${read}, ${percent(Math.max(...cell.seen))} sure`) +
        (answer !== undefined && answer !== (entry?.read ?? read) ? `, the answer is ${answer}` : ''));
      button.setAttribute('aria-pressed', k === selected);
    });
    const digits = board.cells.filter((cell) => cell.seen).length;
    byId('summary').textContent = `${digits} digits read. ` + (!board.assignment ? 'There is no answer.' :
      (board.unique === true ? 'The answer is the only one.' : board.unique === false ?
        'The digits allow other answers as well.' : 'Whether it is the only answer was not settled.')) +
      (board.entries ? ` ${board.entries.filter((entry) => entry.right).length} of ${board.entries.length} handwritten ` +
        'entries are right.' : '') +
      ` ${Math.round(board.wall)} ms from picture to answer.`;
    byId('summary').dataset.milliseconds = board.wall;
    const at = (position) => place(board.cells.findIndex((cell) => cell.position === position));
    const said = !board.assignment ? [] : [
      ...board.changed.map((change) => `${at(change.position)}: read ${change.read} (${percent(change.p_read)}), is ` +
        `${change.decoded} (${percent(change.p_decoded)}): ${reason(change)}`),
      ...(board.entries ?? []).filter((entry) => !entry.right).map((entry) => `${at(entry.position)}: the handwritten ` +
        `${entry.read} is wrong, the answer is ${board.assignment[entry.position]}`)];
    byId('changes').replaceChildren(...said.map((text) => {
      const item = document.createElement('li');
      item.textContent = text;
      return item;
    }));
    byId('save').hidden = !board.assignment;
    if (selected >= 0) describe(selected);
  }

  function select(k) {
    if (selected >= 0) byId('cells').children[selected]?.setAttribute('aria-pressed', false);
    selected = k;
    byId('cells').children[k].setAttribute('aria-pressed', true);
    describe(k);
  }

  function describe(k) {
    if (!board) return;
    const cell = board.cells[k], read = readAt(k), answer = answerAt(k);
    byId('detail').hidden = false;
    byId('detail-title').textContent = place(k)[0].toUpperCase() + place(k).slice(1);
    const change = board.changed.find((own) => own.position === cell.position);
    const entry = entryAt(k);
    byId('detail-text').textContent = (cell.corrected ? `You said ${read}. ` :
      entry ? `A handwritten ${entry.read}, which is ${entry.right ? 'right' : 'wrong'}. ` :
        read === undefined ? 'Nothing was read here. ' : `Read as ${read}. `) + (answer === undefined ? '' : `The answer is ${answer}. `) +
      (change && board.assignment ? reason(change)[0].toUpperCase() + reason(change).slice(1) + '. ' : '') +
      (cell.seen ? '' : "The bars show the reasoner's belief.");
    const beliefs = cell.seen ?? cell.believed;
    byId('bars').replaceChildren(...cell.symbols.map((symbol, s) => {
      const row = document.createElement('div');
      row.className = 'bar';
      row.setAttribute('role', 'listitem');
      row.innerHTML = '<span></span><i></i><span></span>';
      row.children[0].textContent = symbol;
      row.children[1].style.width = 100 * beliefs[s] + '%';
      row.children[2].textContent = percent(beliefs[s]);
      return row;
    }));
    byId('digits').replaceChildren(...[...cell.symbols, ''].map((symbol) => {
      const button = document.createElement('button');
      button.textContent = symbol || 'blank';
      button.setAttribute('aria-label', symbol ? `It is a ${symbol}` : 'It is blank');
      button.onclick = () => correct(selected >= 0 ? selected : k, symbol);
      return button;
    }));
  }

  // ---- pictures
  byId('file').onchange = (event) => event.target.files[0] && open(event.target.files[0]);
  addEventListener('dragover', (event) => { event.preventDefault(); byId('frame').classList.add('dragging'); });
  addEventListener('dragleave', () => byId('frame').classList.remove('dragging'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    byId('frame').classList.remove('dragging');
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
  addEventListener('paste', (event) => {
    const file = [...event.clipboardData.files].find((own) => own.type.startsWith('image/'));
    if (file) open(file);
  });
  fetch('examples/index.json').then((response) => response.json()).then((examples) => {
    byId('examples').replaceChildren(...examples.map(({name, file}) => {
      const button = document.createElement('button');
      button.textContent = name;
      button.onclick = async () => open(await (await fetch('examples/' + file)).blob());
      return button;
    }));
  });

  // ---- camera
  const video = byId('video');
  const stopCamera = () => {
    for (const track of video.srcObject?.getTracks() ?? []) track.stop();
    video.srcObject = null;
    byId('live').hidden = true;
  };
  byId('camera').onclick = async () => {
    try {
      video.srcObject = await navigator.mediaDevices.getUserMedia({video: {facingMode: 'environment', width: {ideal: 1280}}});
      byId('live').hidden = false;
      await video.play();
    } catch (error) {
      fail('The camera cannot be used: ' + (error.message ?? error));
    }
  };
  byId('stop').onclick = stopCamera;
  byId('shoot').onclick = async () => {
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    canvas.getContext('2d').drawImage(video, 0, 0);
    stopCamera();
    open(await canvas.convertToBlob({type: 'image/png'}));
  };

  // ---- the solved picture
  byId('save').onclick = () => {
    const canvas = document.createElement('canvas');
    canvas.width = picture.width;
    canvas.height = picture.height;
    const context = canvas.getContext('2d');
    context.drawImage(picture, 0, 0);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillStyle = onDark() ? '#9cc7ff' : '#1d4e89';
    context.font = `600 ${0.62 * CELL}px sans-serif`;
    board.cells.forEach((cell, k) => {
      if (readAt(k) !== undefined || entryAt(k)) return;
      context.setTransform(...new Perspective(CELL, cell.corners).nearMiddle);
      context.fillText(answerAt(k), 0, 0);
    });
    canvas.toBlob((blob) => {
      const link = document.createElement('a');
      link.href = URL.createObjectURL(blob);
      link.download = 'solved.png';
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  };

  // ---- drawing a digit
  const pad = byId('pad'), ink = pad.getContext('2d', {willReadFrequently: true});
  const clear = () => { ink.fillStyle = '#fff'; ink.fillRect(0, 0, pad.width, pad.height); };
  clear();
  ink.lineCap = ink.lineJoin = 'round';
  ink.lineWidth = 12;
  const at = (event) => {
    const box = pad.getBoundingClientRect();
    return [(event.clientX - box.left) * pad.width / box.width, (event.clientY - box.top) * pad.height / box.height];
  };
  pad.onpointerdown = (event) => {
    pad.setPointerCapture(event.pointerId);
    ink.beginPath();
    ink.moveTo(...at(event));
  };
  pad.onpointermove = (event) => {
    if (!event.buttons) return;
    ink.lineTo(...at(event));
    ink.strokeStyle = '#000';
    ink.stroke();
  };
  byId('pad-clear').onclick = clear;
  byId('pad-use').onclick = () => {
    if (!board || selected < 0) return;
    const pixels = asMnist(ink.getImageData(0, 0, pad.width, pad.height));
    if (!pixels) return;
    correct(selected, pixels);
    clear();
  };

  return {get board() { return board; }, onchange: (listener) => listeners.push(listener), open,
    get examples() { return byId('examples'); }};
}

// Black ink on white as MNIST has digits: scaled into 20 × 20, its centre of mass in the middle of 28 × 28.
function asMnist({data, width, height}) {
  let left = width, top = height, right = -1, bottom = -1, sumX = 0, sumY = 0, sum = 0;
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const dark = 255 - data[4 * (y * width + x)];
      if (dark < 64) continue;
      left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
      sumX += x * dark; sumY += y * dark; sum += dark;
    }
  }
  if (right < 0) return null;
  const scale = 20 / Math.max(right - left + 1, bottom - top + 1);
  const source = new OffscreenCanvas(width, height);
  source.getContext('2d').putImageData(new ImageData(data, width, height), 0, 0);
  const small = new OffscreenCanvas(28, 28), context = small.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, 28, 28);
  context.imageSmoothingQuality = 'high';
  context.translate(14 - (sumX / sum + 0.5) * scale, 14 - (sumY / sum + 0.5) * scale);
  context.scale(scale, scale);
  context.drawImage(source, 0, 0);
  const out = context.getImageData(0, 0, 28, 28).data;
  return Array.from({length: 784}, (_, k) => 255 - out[4 * k]);
}
