// Material searches in a worker, and browsers start none from a folder. Here the worker's script runs in a hidden frame
// instead. (Material's own shim, iframe-worker, writes an inline script that holds the folder's name: no policy can let
// it in by a hash.) Material's search looks for this very name and then asks the frame where its word lists are.
globalThis.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const { contentWindow: inside, contentDocument: page } = frame;
    const load = (address) => new Promise((resolve, reject) => {
      const script = Object.assign(page.createElement("script"), { src: address, onload: resolve, onerror: reject });
      page.body.append(script);
    });
    inside.importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.inside = inside;
    this.ready = load(new URL(url, location).href);
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
  }
};
if (location.protocol === "file:") globalThis.Worker = globalThis.IFrameWorker;
