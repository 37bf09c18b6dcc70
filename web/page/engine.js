// The runtime behind promises: each Engine is a worker of its own, so that the page stays responsive, and a search that
// takes too long is ended by ending the worker.
export class Engine {
  #worker;
  #waiting = new Map();
  #next = 0;

  constructor(seconds = Infinity) {
    this.seconds = seconds;
    this.#start();
  }

  #start() {
    this.#worker = new Worker(new URL('worker.js', import.meta.url), {type: 'module'});
    this.#worker.onmessage = ({data}) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (waiting) waiting(data.document);
    };
    this.#worker.onerror = (event) => this.#fail(event.message || 'the worker could not be loaded');
  }

  #fail(message) {
    for (const waiting of this.#waiting.values()) waiting({error: message});
    this.#waiting.clear();
  }

  // Answers with a document; a fault is a document with `error`.
  call(name, request = {}, files = {}) {
    return new Promise((resolve) => {
      const id = this.#next++;
      let timer;
      this.#waiting.set(id, (document) => {
        clearTimeout(timer);
        resolve(document);
      });
      if (Number.isFinite(this.seconds)) {
        timer = setTimeout(() => {
          this.#worker.terminate();
          this.#fail(`stopped after ${this.seconds} s: the program may ground to too many rules, or be hard to decide`);
          this.#start();
          this.restarted?.();
        }, this.seconds * 1000);
      }
      this.#worker.postMessage({id, name, request, files});
    });
  }
}
