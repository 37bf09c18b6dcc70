// Keeps what was loaded, so that the page works offline: the network first, so that a new version shows at once, what was
// kept where there is no network. `files.json` names what is loaded beforehand; the rest is kept when it is first used.
const KEPT = 'as2';

self.addEventListener('install', (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(KEPT);
    await cache.addAll(await (await fetch('files.json')).json());
    await self.skipWaiting();
  })());
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('fetch', (event) => {
  const {request} = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== self.location.origin) return;
  event.respondWith((async () => {
    const cache = await caches.open(KEPT);
    try {
      const response = await fetch(request);
      if (response.ok) await cache.put(request, response.clone());
      return response;
    } catch (error) {
      const kept = await cache.match(request, {ignoreSearch: true});
      if (kept) return kept;
      throw error;
    }
  })());
});
