// A page that is opened as a file may start no worker. Then the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.within = this.frame.contentWindow;
      this.within.postMessage = (said) => this.tell(said);
      this.within.importScripts = (...addresses) => addresses.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve());
      this.ready = this.load(address);
    }
    load(address) {
      const script = this.within.document.createElement("script");
      script.src = new URL(address, document.baseURI);
      return new Promise((done, failed) => {
        script.onload = done;
        script.onerror = failed;
        this.within.document.body.append(script);
      });
    }
    tell(said) {
      const event = new MessageEvent("message", { data: said });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
    postMessage(said) {
      this.ready.then(() => this.within.dispatchEvent(new this.within.MessageEvent("message", { data: said })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
