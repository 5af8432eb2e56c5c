// A page that is opened as a file may not start a worker: there the search runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.replies = [];
      this.listeners = 0;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<body></body>";
      this.inside = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => {
            this.replies.push(data);
            setTimeout(() => this.deliver());
          };
          const script = inside.document.createElement("script");
          script.src = address;
          script.addEventListener("load", () => resolve(inside));
          inside.document.body.append(script);
        });
      });
      document.body.append(frame);
    }

    async postMessage(data) {
      (await this.inside).dispatchEvent(new MessageEvent("message", { data }));
    }

    // nothing is lost where the page does not listen yet
    addEventListener(type, listener, options) {
      super.addEventListener(type, listener, options);
      this.listeners += 1;
      setTimeout(() => this.deliver());
    }

    removeEventListener(type, listener, options) {
      super.removeEventListener(type, listener, options);
      this.listeners -= 1;
    }

    deliver() {
      while (this.listeners > 0 && this.replies.length > 0) {
        this.dispatchEvent(new MessageEvent("message", { data: this.replies.shift() }));
      }
    }
  };
}
