// The tab "Write a program": what it compiles to, with the lines it comes from; beliefs by sliders; the most probable
// answer, what it changed and why, and soft T_P, live.
import {fetched} from './files.js';

const byId = (id) => document.getElementById(id);
const MOST_SHOWN = 40;

export function startProgram(engine) {
  let programs = [], checked = null, beliefs = {}, families = new Map(), running = false, again = null, loaded = false;
  const text = byId('text');

  // ---- the editor
  function mark(first = 0, last = first, bad = false) {
    const lines = text.value.split('\n');
    byId('lines').textContent = lines.map((_, k) => k + 1).join('\n');
    byId('marks').replaceChildren(...lines.flatMap((line, k) => {
      const inside = k + 1 >= first && k + 1 <= last;
      const part = document.createElement(inside ? 'b' : 'span');
      if (inside && bad) part.className = 'bad';
      part.textContent = line || ' ';
      return [part, '\n'];
    }));
    scroll();
  }
  function scroll() {
    byId('lines').style.transform = `translateY(${-text.scrollTop}px)`;
    byId('marks').style.transform = `translate(${-text.scrollLeft}px, ${-text.scrollTop}px)`;
  }
  function reveal(line) {
    const height = parseFloat(getComputedStyle(text).lineHeight);
    if ((line - 1) * height < text.scrollTop || line * height > text.scrollTop + text.clientHeight)
      text.scrollTop = Math.max(0, (line - 4) * height);
    scroll();
  }
  text.onscroll = scroll;

  // ---- what the program is
  const constants = () => Object.fromEntries(byId('constants').value.split(/[\s,]+/).filter(Boolean).map((part) => {
    const at = part.indexOf('=');
    return at > 0 ? [part.slice(0, at), part.slice(at + 1)] : [part, ''];
  }));

  async function check() {
    const shipped = programs.find((program) => program.name === byId('shipped').value);
    const own = constants();
    const asShipped = shipped && shipped.text === text.value && Object.keys(own).length === 0 && shipped.compiled;
    if (Object.values(own).includes('')) return refuse({error: 'constants are written NAME=VALUE'});
    const document_ = await engine.call('check', asShipped ?
      {compiled: new TextDecoder().decode(await fetched('programs/' + shipped.compiled))} :
      {program: text.value, constants: own});
    if (document_.error) return refuse(document_);
    checked = document_;
    byId('program-error').hidden = true;
    mark();
    for (const name of Object.keys(beliefs)) {
      const position = checked.show.find((entry) => entry.position === name);
      if (!position || Object.keys(beliefs[name]).some((symbol) => !position.symbols.includes(symbol))) delete beliefs[name];
    }
    const counted = (count, what, some = what + 's') => `${count} ${count === 1 ? what : some}`;
    byId('counts').textContent = [counted(checked.positions, 'position'), counted(checked.atoms, 'atom'),
      counted(checked.groups, 'group'), counted(checked.residual_terms, 'residual term'),
      ...(checked.definitions ? [counted(checked.definitions, 'definition')] : []),
      ...(checked.guesses.length ? [counted(checked.guesses.length, 'guess', 'guesses')] : [])].join(', ');
    byId('warnings').replaceChildren(...checked.warnings.map((warning) => {
      const item = document.createElement('li');
      item.textContent = `line ${warning.line}: ${warning.message}`;
      return item;
    }));
    families = new Map();
    byId('families').replaceChildren(...checked.families.map((family) => {
      const row = document.createElement('tr');
      const show = () => {
        const last = lastLine(family.line);
        mark(family.line, last);
        reveal(family.line);
        for (const other of byId('families').children) other.classList.toggle('on', other === row);
      };
      const button = document.createElement('button');
      button.textContent = family.name;
      button.onclick = show;
      row.onmouseenter = show;
      for (const value of [button, family.line, family.kind, family.groups, '']) row.insertCell().append(value);
      families.set(family.name, row);
      return row;
    }));
    showPositions();
    await decode();
  }

  // A statement ends with the first line from here that has a full stop at its end.
  function lastLine(first) {
    const lines = text.value.split('\n');
    for (let k = first - 1; k < lines.length; ++k) if (/\.\s*(%.*|\[.*)?$/.test(lines[k])) return k + 1;
    return first;
  }

  function refuse(document_) {
    checked = null;
    byId('program-error').hidden = false;
    byId('program-error').textContent = document_.error;
    byId('counts').textContent = byId('decoded').textContent = byId('probability').textContent = '';
    for (const id of ['families', 'why', 'positions', 'warnings']) byId(id).replaceChildren();
    const place = document_.place;
    if (place?.line) {
      mark(place.line, place.end_line || place.line, true);
      reveal(place.line);
    } else {
      mark();
    }
  }

  // ---- beliefs
  const beliefOf = (entry, symbol) => beliefs[entry.position] ? beliefs[entry.position][symbol] ?? 0 : 1 / entry.symbols.length;

  // One symbol gets `value`, the others keep their proportions in what is left.
  function believe(entry, symbol, value) {
    const others = entry.symbols.filter((other) => other !== symbol);
    const sum = others.reduce((total, other) => total + beliefOf(entry, other), 0);
    const next = {[symbol]: others.length ? value : 1};
    for (const other of others) next[other] = (1 - value) * (sum > 0 ? beliefOf(entry, other) / sum : 1 / others.length);
    beliefs[entry.position] = next;
  }

  function showPositions() {
    const wanted = byId('filter').value.trim();
    const found = checked.show.filter((entry) => entry.position.includes(wanted));
    const open = new Set([...byId('positions').querySelectorAll('details[open]')].map((own) => own.dataset.position));
    const same = found.some((entry) => open.has(entry.position));
    byId('positions').replaceChildren(...found.slice(0, MOST_SHOWN).map((entry, k) => {
      const box = document.createElement('details');
      box.className = 'position';
      box.dataset.position = entry.position;
      box.open = same ? open.has(entry.position) : k < 3;
      const summary = document.createElement('summary');
      summary.textContent = entry.position;
      box.append(summary, ...entry.symbols.map((symbol) => {
        const row = document.createElement('div');
        row.className = 'row';
        row.dataset.symbol = symbol;
        const slider = Object.assign(document.createElement('input'), {type: 'range', min: 0, max: 1, step: 0.01});
        slider.value = beliefOf(entry, symbol);
        slider.setAttribute('aria-label', `belief in ${entry.position} = ${symbol}`);
        slider.oninput = () => {
          believe(entry, symbol, +slider.value);
          decode();
        };
        row.append(Object.assign(document.createElement('span'), {textContent: symbol}), slider,
          Object.assign(document.createElement('span'), {title: 'belief'}),
          Object.assign(document.createElement('span'), {title: 'soft T_P image'}),
          Object.assign(document.createElement('span'), {title: 'exact probability'}));
        return row;
      }));
      return box;
    }));
    if (found.length > MOST_SHOWN) {
      const more = document.createElement('p');
      more.textContent = `and ${found.length - MOST_SHOWN} more; name one above`;
      byId('positions').append(more);
    }
  }

  // ---- the answer; while one is computed, only the latest wish waits
  async function decode() {
    if (running) { again = decode; return; }
    running = true;
    try {
      const document_ = await engine.call('decode', {beliefs});
      const tp = document_.error ? document_ : await engine.call('tp', {beliefs});
      const query = byId('query').value.trim();
      const exact = byId('exact').checked && !document_.error ?
        await engine.call('prob', {beliefs, queries: query ? [query] : []}) : null;
      if (checked) {
        showAnswer(document_, tp, exact);
        showExact(exact, query);
      }
    } finally {
      running = false;
      if (again) { const next = again; again = null; next(); }
    }
  }

  function showExact(exact, query) {
    byId('probability').textContent = !exact ? '' : exact.error ? exact.error.replace(/^error: /, '') :
      [...(query ? [`P(${query}) = ${exact.queries[0].toPrecision(4)}`] : []),
        `${exact.count} answer set${exact.count === '1' ? '' : 's'}, P(program) = ${Math.exp(exact.log_p_program).toPrecision(4)}`,
        ...(exact.messages ?? [])].join('; ');
    byId('probability').classList.toggle('error', Boolean(exact?.error));
  }

  function showAnswer(decoded, tp, exact) {
    if (decoded.error || tp.error) {
      byId('decoded').textContent = decoded.error ?? tp.error;
      return;
    }
    byId('decoded').textContent = decoded.assignment ?
      `${decoded.status}, log p = ${decoded.log_probability.toFixed(3)}` +
        (decoded.cost ? `, cost ${decoded.cost.join(', ')}` : '') + `: ${decoded.atoms.join(' ') || '(no atom is true)'}` :
      `${decoded.status}: there is no answer.`;
    byId('why').replaceChildren(...decoded.changed.slice(0, 12).map((change) => {
      const item = document.createElement('li');
      const broken = decoded.conflicts.filter((group) => group.positions.includes(change.position))
        .map((group) => `${group.family} (line ${group.line})`);
      item.textContent = `${change.position}: believed ${change.read} (${change.p_read.toFixed(2)}), is ${change.decoded} ` +
        `(${change.p_decoded.toFixed(2)}): ` + (broken.length ? `${change.read} breaks ${[...new Set(broken)].join(', ')}` :
          `with ${change.read} there is no answer as probable`);
      return item;
    }), ...(decoded.assignment ? [] : decoded.conflicts).map((group) => {
      const item = document.createElement('li');
      item.textContent = `in conflict: ${group.family} (line ${group.line}) on ${group.positions.join(' ')}`;
      return item;
    }));
    for (const [name, row] of families) {
      let largest = 0;
      for (const symbols of Object.values(tp.residual[name] ?? {})) largest = Math.max(largest, ...Object.values(symbols));
      row.children[4].textContent = largest.toFixed(3);
      row.children[4].className = largest > 0.1 ? 'alarm' : '';
    }
    for (const box of byId('positions').querySelectorAll('details')) {
      const name = box.dataset.position, entry = checked.show.find((own) => own.position === name);
      for (const row of box.querySelectorAll('.row')) {
        const symbol = row.dataset.symbol, p = beliefOf(entry, symbol);
        let image = p;
        for (const family of Object.keys(tp.image)) image = Math.min(image, tp.image[family][name]?.[symbol] ?? p);
        const slider = row.children[1];
        if (document.activeElement !== slider) slider.value = p;
        row.children[2].textContent = p.toFixed(2);
        row.children[3].textContent = `→ ${image.toFixed(2)}`;
        row.children[3].className = p - image > 0.1 ? 'alarm' : '';
        row.children[4].textContent = exact?.marginals ? exact.marginals[name][symbol].toFixed(2) : '';
        row.children[0].style.fontWeight = decoded.assignment?.[name] === symbol ? 700 : 400;
      }
    }
  }

  // ---- events
  let timer;
  const later = () => {
    clearTimeout(timer);
    mark();
    timer = setTimeout(check, 350);
  };
  text.oninput = later;
  text.onkeydown = (event) => {
    if (event.key !== 'Escape') return;
    byId('constants').focus();  // Tab stays what it is, so that nobody is caught in here
  };
  byId('constants').oninput = later;
  byId('filter').oninput = () => checked && (showPositions(), decode());
  byId('exact').onchange = () => {
    byId('query').disabled = !byId('exact').checked;
    if (checked) decode();
  };
  byId('query').oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(() => checked && decode(), 350);
  };
  byId('reset').onclick = () => { beliefs = {}; if (checked) { showPositions(); decode(); } };
  engine.restarted = () => { checked = null; };

  async function choose() {
    const shipped = programs.find((program) => program.name === byId('shipped').value);
    if (shipped.text === undefined) shipped.text = await (await fetch('programs/' + shipped.file)).text();
    beliefs = {};
    byId('constants').value = '';
    text.value = shipped.text;
    text.scrollTop = 0;
    mark();
    await check();
  }
  byId('shipped').onchange = choose;

  return async () => {
    if (loaded) return;
    loaded = true;
    programs = await (await fetch('programs/index.json')).json();
    byId('shipped').replaceChildren(...programs.map(({name}) => new Option(name, name)));
    byId('shipped').value = programs.some(({name}) => name === 'graph_colouring') ? 'graph_colouring' : programs[0].name;
    await choose();
  };
}
