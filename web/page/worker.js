// Holds the runtime. Files it needs are fetched once and put into its own file system, which begins at /as2.
import createAs2 from './as2.js';
import {fetched} from './files.js';

let clingo;  // the grounder, loaded when a program is first written
let printed = {out: [], err: []};

async function loadClingo() {
  if (clingo !== undefined) return;
  try {
    const {default: create} = await import('./clingo.js');
    const address = URL.createObjectURL(new Blob([await fetched('clingo.wasm')], {type: 'application/wasm'}));
    clingo = await create({
      print: (line) => printed.out.push(line),
      printErr: (line) => printed.err.push(line),
      locateFile: () => address,
    });
  } catch (error) {
    console.warn('the grounder could not be loaded:', error);  // the page was built without it
    clingo = null;
  }
}

// Called by the runtime in place of gringo.
function ground(text, options) {
  printed = {out: [], err: []};
  let exitCode = 0;
  try {
    exitCode = clingo.ccall('run', 'number', ['string', 'string'], [text, `--mode=gringo ${options}`]);
  } catch (error) {
    exitCode = 33;
    printed.err.push(`*** ERROR: ${error.message ?? error}`);
    clingo = undefined;  // after a trap it must not be used again
  }
  // clingo ends with 0; its C function says so with a line of its own.
  return JSON.stringify({out: printed.out.join('\n') + '\n', err: printed.err.join('\n'), exitCode});
}

const as2 = fetched('as2.wasm').then((wasmBinary) => createAs2({wasmBinary}));

async function put(module, path) {
  const target = '/as2/' + path;
  if (module.FS.analyzePath(target).exists) return;
  const bytes = await fetched(path);
  module.FS.mkdirTree(target.slice(0, target.lastIndexOf('/')));
  module.FS.writeFile(target, bytes);
}

async function answer({name, request, files}) {
  const module = await as2;
  for (const path of files.needed ?? []) await put(module, path);
  if (name === 'need') return {};  // only that they be there
  if (files.picture) module.FS.writeFile('/picture', files.picture);
  if (name === 'check' && !request.compiled) {
    await loadClingo();
    module.ground = clingo ? ground : undefined;
  }
  const pointer = module.ccall('as2_call', 'number', ['string', 'string'], [name, JSON.stringify(request)]);
  const text = module.UTF8ToString(pointer);
  module._free(pointer);
  return JSON.parse(text);
}

let last = Promise.resolve();  // one at a time, in order
onmessage = ({data}) => {
  last = last.then(() => answer(data)).catch((error) => ({error: String(error.message ?? error)}))
    .then((document) => postMessage({id: data.id, document}));
};
