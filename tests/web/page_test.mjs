// The page as a visitor uses it, in Chromium, served by `as2 serve`.
import assert from 'node:assert/strict';
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const [source, build, browserPath, driver, work] = process.argv.slice(2);
const {default: playwright} = await import(driver);
const as2 = join(build, 'bin/as2');
const shots = join(build, 'web/screenshots');
const PATIENCE = 300000;  // milliseconds: only to end what hangs, a slow machine is no failure
mkdirSync(shots, {recursive: true});

const server = spawn(as2, ['serve', '--port', '0', '--page', join(build, 'web/page')], {stdio: ['ignore', 'inherit', 'pipe']});
const address = await new Promise((resolve, reject) => {
  let said = '';
  server.stderr.on('data', (data) => {
    said += data;
    const found = said.match(/(http:\/\/\S+)\s/);  // a whole word: output comes in pieces
    if (found) resolve(found[1]);
  });
  server.on('exit', () => reject(new Error('as2 serve ended: ' + said)));
});

// Photos of printed boards into which a player has written three digits, one of them wrong.
const list = join(work, 'photographed.txt');
execFileSync(as2, ['data', 'sudoku', '--count', '10', '--clues', '26-36', '--seed', '5', '--out', list, '--quiet']);
execFileSync(as2, ['data', 'render', list, '--split', 'test', '--photos', '--entries', '3', '--seed', '1', '--out', join(work, 'photos'), '--quiet']);
const photos = readdirSync(join(work, 'photos')).filter((name) => name.endsWith('.jpg')).sort().map((name) => join(work, 'photos', name));
const camera = join(work, 'camera.y4m');  // what the browser's pretended camera sees

// Headless from the start: no updates, no background traffic.
const context = await playwright.chromium.launchPersistentContext(join(work, 'profile'), {
  executablePath: browserPath, headless: true, viewport: {width: 1200, height: 900}, timeout: PATIENCE,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream',
    '--use-file-for-fake-video-capture=' + camera],
});
const page = context.pages()[0] ?? await context.newPage();
page.setDefaultTimeout(PATIENCE);
const faults = [];
page.on('pageerror', (error) => faults.push(String(error)));
page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));

const shot = (name) => page.screenshot({path: join(shots, name + '.png'), fullPage: true});
const text = (selector) => page.locator(selector).innerText();
const answers = () => page.evaluate(() => [...document.querySelectorAll('#cells button')].map((cell) => cell.getAttribute('aria-label')));
const solved = (action) => page.evaluate(() => { document.getElementById('summary').textContent = ''; }).then(action)
  .then(() => page.waitForFunction(() => document.getElementById('summary').textContent !== ''));
const example = (name) => solved(() => page.getByRole('button', {name, exact: true}).click());

// Milliseconds of the processor that the browser's processes have taken: on a busy machine the clock says little.
function processorTime() {
  const processes = new Map(readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
      return [[+pid, {parent: +fields[1], milliseconds: 10 * (+fields[11] + +fields[12])}]];
    } catch {
      return [];  // it has ended
    }
  }));
  const ours = (pid) => pid === process.pid || (processes.has(pid) && ours(processes.get(pid).parent));
  let sum = 0;
  for (const [pid, {milliseconds}] of processes) if (pid !== process.pid && pid !== server.pid && ours(pid)) sum += milliseconds;
  return sum;
}

const steps = {
  'the page loads; all of it is less than 4 MB': async () => {
    await page.goto(address + '/');
    await page.waitForSelector('html[data-ready=yes]');
    await page.waitForLoadState('networkidle');
    // Everything in the folder but the paper's Transformer, which has a button of its own.
    const files = readdirSync(join(build, 'web/page'), {recursive: true}).filter((file) =>
      !file.includes('sudoku-paper') && statSync(join(build, 'web/page', file)).isFile());
    for (const needed of ['as2.wasm.gz', 'models/sudoku-best.safetensors.gz', 'models/cells-best.safetensors.gz'])
      assert.ok(files.includes(needed), needed);
    const sizes = files.map((file) => statSync(join(build, 'web/page', file)).size);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    console.log(`   ${total} bytes: ` + files.map((file, k) => `${file} ${sizes[k]}`).filter((_, k) => sizes[k] > 50e3).join(', '));
    assert.ok(total < 4e6, `${total} bytes`);
  },
  'an example is solved': async () => {
    await example('A board');
    const expected = JSON.parse(execFileSync(as2, ['solve', join(source, 'examples/board.png'), '--json'])).assignment;
    const shown = await answers();
    Object.values(expected).forEach((digit, k) => assert.match(shown[k], new RegExp(`(read|answer is) ${digit}`)));
    assert.match(await text('#summary'), /The answer is the only one/);
  },
  'how long it takes from picture to answer': async () => {
    const times = [], before = processorTime();
    for (let k = 0; k < 10; ++k) {
      await example('A board');
      times.push(+await page.locator('#summary').getAttribute('data-milliseconds'));
    }
    times.sort((a, b) => a - b);
    console.log(`   ${Math.round(times[5])} ms median, ${Math.round(times[0])} at best; ${(processorTime() - before) / 10} ms of the ` +
      'processor each, drawing the page and the test included');
    await page.locator('#cells button').nth(40).hover();
    await shot('solve');
  },
  'a misread digit is put right, with the reason': async () => {
    await example('A misread digit');
    assert.match(await text('#changes'), /row 3, column 7: read 7 .* is 1 .*(already has a 7|there is no solution)/);
    assert.equal(await page.locator('#cells .changed').count(), 1);
    assert.match(await text('#detail'), /Row 3, column 7/i);
    await shot('misread');
  },
  'a cell is corrected, and the answer follows': async () => {
    await example('A board');
    const before = await answers();
    const blank = before.findIndex((label) => /blank, the answer is/.test(label));
    const digit = +before[blank].match(/answer is (\d)/)[1];
    // Another digit than the only answer has: there is no answer any more, and the page says so.
    await page.locator('#cells button').nth(blank).click();
    await solved(() => page.getByRole('button', {name: `It is a ${digit % 9 + 1}`}).click());
    assert.match(await text('#summary'), /There is no answer/);
    assert.match(await text('#error'), /no valid completion/);
    // A clue taken away, and the wrong digit too: the answer is back, perhaps not the only one.
    await solved(() => page.getByRole('button', {name: 'It is blank'}).click());
    assert.deepEqual(await answers(), before);
    const clue = before.findIndex((label) => /read/.test(label));
    await page.locator('#cells button').nth(clue).focus();
    await solved(() => page.keyboard.press('Delete'));
    assert.match((await answers())[clue], /blank/);
    const read = before[clue].match(/read (\d)/)[1];
    await page.locator('#cells button').nth(clue).focus();
    await solved(() => page.keyboard.press(read));
    assert.match((await answers())[clue], new RegExp(`you said ${read}`));
  },
  'a digit is drawn and read': async () => {
    const cell = (await answers()).findIndex((label) => /read 1|answer is 1/.test(label));
    await page.locator('#cells button').nth(cell).click();
    const pad = await page.locator('#pad').boundingBox();
    await page.mouse.move(pad.x + pad.width / 2, pad.y + 20);
    await page.mouse.down();
    await page.mouse.move(pad.x + pad.width / 2, pad.y + pad.height - 20, {steps: 10});
    await page.mouse.up();
    await solved(() => page.getByRole('button', {name: 'Read what I drew'}).click());
    assert.match((await answers())[cell], /read 1/);
  },
  'a picture that is no board is refused in words': async () => {
    await example('Not a board');
    assert.match(await text('#summary'), /No board was found/);
    assert.notEqual(await text('#error'), '');
    assert.equal(await page.locator('#cells button').count(), 0);
    await shot('no_board');
  },
  'the reasoner is watched until nothing is violated': async () => {
    await example('A board');
    await page.getByRole('tab', {name: 'Watch it reason'}).click();
    await page.waitForFunction(() => document.getElementById('pass').max > 0);
    assert.match(await text('#caption-best'), /what was read/);
    await page.locator('#forth').click();
    assert.match(await text('#caption-best'), /pass 1 of/);
    await shot('reason_first');
    await page.getByRole('button', {name: "Load the paper's Transformer"}).click();
    await page.waitForFunction(() => document.getElementById('caption-paper').textContent.includes('residual'));
    await page.locator('#pass').focus();
    await page.keyboard.press('End');
    assert.match(await text('#caption-best'), /no group violated/);
    assert.match(await text('#caption-paper'), /layer 6 of 6/);
    await shot('reason');
  },
  'a program is written: errors stand at their line, answers follow the sliders': async () => {
    await page.getByRole('tab', {name: 'Write a program'}).click();
    await page.waitForFunction(() => document.querySelectorAll('#families tr').length > 0);
    await page.waitForFunction(() => document.getElementById('decoded').textContent.includes('log p'));
    await shot('program');
    // Text that no shipped program has: it is ground in the page.
    await page.fill('#text', '{ seat(P,1..3) } = 1 :- P = (ann;bob;eve).\n\n:- seat(P,S), seat(Q,S), P < Q.  % one each\n');
    await page.waitForFunction(() => document.getElementById('counts').textContent.startsWith('3 positions'));
    await page.waitForFunction(() => document.getElementById('decoded').textContent.includes('seat('));
    assert.match(await text('#families'), /one each\s+3\s+exclusive/);
    const slide = (name, value) => page.getByLabel(name, {exact: true}).fill(String(value));
    await slide('belief in seat(ann,_) = 2', 0.9);
    await slide('belief in seat(bob,_) = 2', 0.8);
    // Of the second slider, and not of the first or of none: seat(bob,_) is named there as well.
    await page.waitForFunction(() => document.getElementById('why').textContent.includes('believed 2 (0.80)'));
    assert.match(await text('#decoded'), /seat\(ann,2\)/);
    assert.match(await text('#why'), /believed 2 \(0.80\).*2 breaks one each \(line 3\)/);
    assert.ok(+await text('#families tr td:nth-child(5)') > 0.5, 'the residual is large where both want seat 2');
    await page.locator('#families button').click();
    assert.equal(await page.locator('#marks b').innerText(), ':- seat(P,S), seat(Q,S), P < Q.  % one each');
    await shot('program_sliders');
    // Exactly: six ways to seat three people; with these beliefs as `as2 prob` says.
    await page.locator('#reset').click();
    await page.locator('#exact').check();
    await page.fill('#query', 'seat(ann,2)');
    await page.waitForFunction(() => document.getElementById('probability').textContent.startsWith('P(seat(ann,2)) = 0.3333; 6 answer sets'));
    await slide('belief in seat(ann,_) = 2', 0.9);
    await slide('belief in seat(bob,_) = 2', 0.8);
    writeFileSync(join(work, 'seats.lp'), await page.inputValue('#text'));
    writeFileSync(join(work, 'seats.json'), JSON.stringify({'seat(ann,_)': {1: 0.05, 2: 0.9, 3: 0.05}, 'seat(bob,_)': {1: 0.1, 2: 0.8, 3: 0.1}}));
    const exact = JSON.parse(execFileSync(as2, ['prob', join(work, 'seats.lp'), '--beliefs', join(work, 'seats.json'), '--query', 'seat(ann,2)', '--json']));
    await page.waitForFunction((p) => document.getElementById('probability').textContent.startsWith(`P(seat(ann,2)) = ${p}`),
      exact.queries[0].p.toPrecision(4));
    assert.equal((await page.locator('[data-position="seat(ann,_)"] .row[data-symbol="2"]').innerText()).split(/\s+/).at(-1),
      exact.queries[0].p.toFixed(2));
    await shot('program_exact');
    // A mistake in the third line.
    await page.fill('#text', '{ seat(P,1..3) } = 1 :- P = (ann;bob;eve).\n\n:- seat(P,S), seat(Q,S) P < Q.  % one each\n');
    await page.waitForSelector('#program-error:not([hidden])');
    assert.match(await text('#program-error'), /program\.lp:3:.*error: syntax error/s);
    assert.match(await page.locator('#marks b.bad').innerText(), /^:- seat/);
    await shot('program_error');
    await page.fill('#text', '#include "/etc/passwd".');
    await page.waitForFunction(() => document.getElementById('program-error').textContent.includes('is refused here'));
    assert.doesNotMatch(await text('#program-error'), /--/, 'a page has no options');
  },
  'the same answers as the command line on 40 boards and 10 photos': async () => {
    const pictures = join(work, 'boards'), list = join(work, 'list.txt');
    execFileSync(as2, ['data', 'sudoku', '--count', '40', '--clues', '24-40', '--seed', '2026', '--out', list, '--quiet']);
    execFileSync(as2, ['data', 'render', list, '--split', 'test', '--seed', '3', '--out', pictures, '--quiet']);
    const files = [...readdirSync(pictures).filter((name) => name.endsWith('.png')).sort().map((name) => join(pictures, name)), ...photos];
    assert.equal(files.length, 50);
    // A refused photo makes the exit code 1; the page has to refuse it, too.
    const expected = spawnSync(as2, ['solve', '--json', ...files], {maxBuffer: 1e8}).stdout.toString().trim().split('\n').map((line) => JSON.parse(line));
    await page.evaluate(async () => {
      const {Engine} = await import('./engine.js');
      const {neededFor, neededForCells} = await import('./solve.js');
      window.engine = new Engine();
      await window.engine.call('open', {model: 'sudoku-best'}, {needed: [...neededFor('sudoku-best'), ...neededForCells]});
    });
    let corrected = 0, entries = 0, apart = 0;
    for (const [k, name] of files.entries()) {
      const answer = await page.evaluate((bytes) => window.engine.call('solve', {file: '/picture'},
        {picture: Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))}), readFileSync(name).toString('base64'));
      for (const field of ['assignment', 'status', 'unique', 'read']) assert.deepEqual(answer[field], expected[k][field], `${name}: ${field}`);
      const plain = (changes) => changes.map(({position, read, decoded}) => [position, read, decoded]);
      assert.deepEqual(plain(answer.changed), plain(expected[k].changed), name);
      const written = (list) => (list ?? []).map(({position, read, right}) => [position, read, right]);
      assert.deepEqual(written(answer.entries), written(expected[k].entries), name);
      assert.equal('error' in answer, 'error' in expected[k], name);
      corrected += answer.changed.length;
      entries += answer.entries?.length ?? 0;
      // The page's weights are rounded to 16 bits: how much that is.
      for (const [position, p] of Object.entries(expected[k].confidence ?? {})) apart = Math.max(apart, Math.abs(p - answer.confidence[position]));
    }
    assert.ok(entries > 10, 'the photos show what players wrote');
    console.log(`   50 boards, ${corrected} digits corrected by the rules, ${entries} entries of players; confidence differs by ${apart.toFixed(4)} at most`);
    assert.ok(apart < 0.05, `${apart}`);
  },
  'in a photo the answer lies as the sheet does, and wrong entries are named': async () => {
    await page.getByRole('tab', {name: 'Solve'}).click();
    // As phones keep it: in colour, on its side, with an EXIF orientation that says so.
    const photo = join(work, 'phone.jpg'), out = join(work, 'out.png');
    const lying = Buffer.from(await page.evaluate(async (url) => {
      const image = await createImageBitmap(await (await fetch(url)).blob());
      const canvas = new OffscreenCanvas(image.height, image.width), context = canvas.getContext('2d');
      context.setTransform(0, -1, 1, 0, 0, image.width);
      context.drawImage(image, 0, 0);
      context.globalCompositeOperation = 'multiply';
      context.fillStyle = '#ffe0a0';
      context.fillRect(0, 0, image.width, image.height);
      const bytes = new Uint8Array(await (await canvas.convertToBlob({type: 'image/jpeg', quality: 0.95})).arrayBuffer());
      return Array.from(bytes);
    }, 'data:image/jpeg;base64,' + readFileSync(photos[1]).toString('base64')));
    const exif = Buffer.from('ffe10022457869660000' + '4d4d002a00000008' + '0001' + '011200030000000100060000' + '00000000', 'hex');
    writeFileSync(photo, Buffer.concat([lying.subarray(0, 2), exif, lying.subarray(2)]));
    const {entries, assignment} = JSON.parse(execFileSync(as2, ['solve', '--json', '--out', out, photo]));
    await solved(() => page.setInputFiles('#file', photo));
    const wrong = entries.find((entry) => !entry.right);
    assert.match(await text('#summary'), new RegExp(`${entries.length - 1} of ${entries.length} handwritten entries are right`));
    assert.match(await text('#changes'), new RegExp(`the handwritten ${wrong.read} is wrong, the answer is ${assignment[wrong.position]}`));
    assert.equal(await page.locator('#cells .wrong').count(), 1);
    await shot('photo');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name: 'Save the solved picture'}).click()]);
    const asUrl = (file, type) => `data:image/${type};base64,` + readFileSync(file).toString('base64');
    // Of each blank cell, where the ink that was added lies on average: as `as2 solve --out` puts it.
    const pictures = await page.evaluate(async ([before, ...after]) => {
      const pixels = async (url) => {
        const image = await createImageBitmap(await (await fetch(url)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const {cells} = await window.engine.call('solve', {file: '/picture'},
        {picture: new Uint8Array(await (await (await fetch(before)).blob()).arrayBuffer())});
      const centres = cells.map(({corners}) => [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis] / 4, 0)));
      const original = await pixels(before);
      return Promise.all(after.map(async (url) => {
        const {data, width} = await pixels(url), sums = centres.map(() => [0, 0, 0]);
        for (let k = 0; k < data.length / 4; ++k) {
          if (Math.abs(data[4 * k] - original.data[4 * k]) < 40) continue;
          const x = k % width + 0.5, y = Math.floor(k / width) + 0.5;
          const distances = centres.map(([u, v]) => Math.hypot(u - x, v - y)), at = distances.indexOf(Math.min(...distances));
          sums[at] = [sums[at][0] + x, sums[at][1] + y, sums[at][2] + 1];
        }
        const colour = data.reduce((sum, value, k) => sum + (k % 4 === 0 ? value : k % 4 === 2 ? -value : 0), 0) / (data.length / 4);
        return {colour, middles: sums.map(([x, y, count]) => count < 10 ? null : [x / count, y / count])};
      }));
    }, [asUrl(photo, 'jpeg'), asUrl(out, 'png'), asUrl(await download.path(), 'png')]);
    for (const {colour} of pictures) assert.ok(colour > 20, 'the paper is still yellow');
    const middles = pictures.map((picture) => picture.middles);
    assert.ok(middles[0].filter(Boolean).length > 40);
    middles[0].forEach((middle, k) => {
      assert.equal(middle === null, middles[1][k] === null, `cell ${k}`);
      if (middle) assert.ok(Math.hypot(middle[0] - middles[1][k][0], middle[1] - middles[1][k][1]) < 9, `cell ${k}: ${middle} and ${middles[1][k]}`);
    });
  },
  'a picture is dropped or pasted': async () => {
    const bytes = Array.from(readFileSync(join(source, 'examples/board.png')));
    for (const kind of ['drop', 'paste']) {
      await example('Not a board');
      await solved(() => page.evaluate(([kind, bytes]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], 'board.png', {type: 'image/png'}));
        document.body.dispatchEvent(kind === 'drop' ? new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}) :
          new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
      }, [kind, bytes]));
      assert.match(await text('#summary'), /The answer is the only one/, kind);
    }
  },
  'the camera takes a picture': async () => {
    const {width, height, gray} = await page.evaluate(async (url) => {
      const image = await createImageBitmap(await (await fetch(url)).blob());
      const width = image.width & ~1, height = image.height & ~1;
      const context = new OffscreenCanvas(width, height).getContext('2d');
      context.drawImage(image, 0, 0);
      return {width, height, gray: Array.from(context.getImageData(0, 0, width, height).data).filter((_, k) => k % 4 === 1)};
    }, 'data:image/jpeg;base64,' + readFileSync(photos[1]).toString('base64'));
    writeFileSync(camera, Buffer.concat([Buffer.from(`YUV4MPEG2 W${width} H${height} F10:1 Ip A1:1 C420mpeg2\nFRAME\n`),
      Buffer.from(gray), Buffer.alloc(width * height / 2, 128)]));
    await page.getByRole('button', {name: 'Use the camera'}).click();
    await page.waitForFunction(() => document.getElementById('video').videoWidth > 100 && document.getElementById('video').readyState >= 2);
    await solved(() => page.locator('#shoot').click());
    assert.match(await text('#summary'), /The answer is the only one/);
    const expected = JSON.parse(execFileSync(as2, ['solve', photos[1], '--json'])).assignment;
    const shown = await answers();
    Object.values(expected).forEach((digit, k) => assert.match(shown[k], new RegExp(`(read|handwritten|answer is) ${digit}`)));
    assert.ok(await page.locator('#live').isHidden(), 'the camera is off again');
    await shot('camera');
  },
  'behind a transparent picture is white paper, in the dark too': async () => {
    await page.emulateMedia({colorScheme: 'dark'});
    const expected = await page.evaluate(async (url) => {
      const image = await createImageBitmap(await (await fetch(url)).blob());
      const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const pixels = context.getImageData(0, 0, image.width, image.height);
      for (let k = 0; k < pixels.data.length; k += 4) pixels.data.set([0, 0, 0, 255 - pixels.data[k + 1]], k);
      context.putImageData(pixels, 0, 0);
      return Array.from(new Uint8Array(await (await canvas.convertToBlob({type: 'image/png'})).arrayBuffer()));
    }, 'data:image/png;base64,' + readFileSync(join(source, 'examples/board.png')).toString('base64'));
    await solved(() => page.setInputFiles('#file', {name: 'ink.png', mimeType: 'image/png', buffer: Buffer.from(expected)}));
    assert.match(await text('#summary'), /The answer is the only one/);
    assert.equal(await page.locator('#cells.on-dark').count(), 0);
    assert.ok(await page.evaluate(() => {
      const canvas = document.getElementById('picture');
      return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.every((value, k) => k % 4 < 3 || value === 255);
    }));
    await shot('transparent');
  },
  'a phone shows it without scrolling sideways, in the dark too': async () => {
    await page.setViewportSize({width: 390, height: 844});
    await page.emulateMedia({colorScheme: 'dark'});
    await page.getByRole('tab', {name: 'Solve'}).click();
    await example('A board');
    for (const tab of ['Solve', 'Watch it reason', 'Write a program']) {
      await page.getByRole('tab', {name: tab}).click();
      if (tab.startsWith('Watch')) await page.waitForFunction(() => document.getElementById('caption-best').textContent.includes('what was read'));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), tab);
      await shot('phone_' + tab.split(' ')[0].toLowerCase());
    }
  },
  'text stands out from what is behind it, in the light and in the dark': async () => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({colorScheme});
      for (const tab of ['Solve', 'Watch it reason', 'Write a program']) {
        await page.getByRole('tab', {name: tab}).click();
        // WCAG's ratio of luminances, at least 4.5; what lies on the photo, cannot be pressed or only
        // marks lines behind the editor's text is left out.
        const faint = await page.evaluate(() => {
          const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
          const luminance = (rgb) => rgb.slice(0, 3).map((value) => value / 255)
            .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
            .reduce((sum, value, k) => sum + value * [0.2126, 0.7152, 0.0722][k], 0);
          const behind = (own) => {
            for (let node = own; node; node = node.parentElement) {
              const colour = parts(getComputedStyle(node).backgroundColor);
              if (colour.length === 3 || colour[3] === 1) return colour;
            }
            return [255, 255, 255];
          };
          return [...document.body.querySelectorAll('*')].filter((own) => own.checkVisibility() && !own.disabled && !own.closest('#cells, #marks') &&
            [...own.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())).map((own) => {
            const [low, high] = [parts(getComputedStyle(own).color), behind(own)].map(luminance).sort((a, b) => a - b);
            return {ratio: (high + 0.05) / (low + 0.05), text: own.textContent.trim().slice(0, 40)};
          }).filter(({ratio}) => ratio < 4.5);
        });
        assert.deepEqual(faint, [], `${colorScheme}, ${tab}`);
      }
    }
  },
  'what can be pressed has a name, and tabs follow the arrow keys': async () => {
    const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select, textarea, canvas')]
      .filter((own) => !(own.getAttribute('aria-label') || own.textContent.trim() || own.closest('label')?.textContent.trim()))
      .map((own) => own.outerHTML));
    assert.deepEqual(nameless, []);
    await page.getByRole('tab', {name: 'Write a program'}).focus();
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-solve');
    assert.ok(await page.locator('#solve').isVisible());
  },
  'it works offline once loaded': async () => {
    await page.waitForSelector('html[data-offline=ready]', {state: 'attached'});
    server.removeAllListeners('exit');
    server.kill('SIGINT');
    await new Promise((resolve) => server.once('exit', resolve));
    await page.reload();
    await page.waitForSelector('html[data-ready=yes]');
    await example('A misread digit');
    assert.match(await text('#summary'), /The answer is the only one/);
  },
};

let failed = 0;
for (const [name, step] of Object.entries(steps)) {
  const start = performance.now();
  try {
    await step();
    console.log(`ok   ${name} (${Math.round(performance.now() - start)} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n${error.stack}`);
    await shot('failed').catch(() => {});
  }
}
const unexpected = faults.filter((fault) => !/ERR_(CONNECTION|FAILED)|Failed to load resource/.test(fault));
if (unexpected.length) {
  failed += 1;
  console.log('FAIL the browser reported faults:\n' + unexpected.join('\n'));
}
await context.close();
server.kill('SIGKILL');
process.exit(failed ? 1 : 0);
