// Large files lie compressed beside the page, so that it is small on every host.
export async function fetched(path) {
  const large = /\.(wasm|safetensors|as2c)$/.test(path);
  const response = await fetch(new URL(large ? path + '.gz' : path, import.meta.url));
  if (!response.ok) throw new Error(`${path} could not be loaded (${response.status})`);
  const body = large ? new Response(response.body.pipeThrough(new DecompressionStream('gzip'))) : response;
  return new Uint8Array(await body.arrayBuffer());
}
