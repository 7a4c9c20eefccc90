/* The page on which a network runs: an element #halftone-live, the module in #halftone-wasm. */
(async () => {
  const root = document.getElementById("halftone-live");
  const text = document.getElementById("halftone-wasm").textContent;
  const net = await HalftoneNet.load(Uint8Array.from(atob(text), (each) => each.charCodeAt(0)));
  const classes = JSON.parse(root.dataset.classes || "[]");
  const add = (parent, kind, properties = {}) =>
    parent.appendChild(Object.assign(document.createElement(kind), properties));
  const inputs = HalftoneNet.inputs.map((port) => new Float32Array(port.size));
  const controls = add(root, "div", {className: "live-inputs"});
  const results = add(root, "div", {className: "live-outputs"});

  function name(index) {
    return classes[index] || String(index);
  }

  function short(number) {
    return Number.isInteger(number) ? String(number) : number.toPrecision(4);
  }

  /* The answer and bars if the values are few, else what they span. */
  function show(values, port) {
    const part = add(results, "div");
    if (HalftoneNet.outputs.length > 1) add(part, "h3", {textContent: port.name});
    const low = Math.min(...values), high = Math.max(...values);
    if (values.length > 1000 || values.length === 1) {
      const line = values.length === 1 ? short(values[0])
        : `${values.length} values from ${short(low)} to ${short(high)}`;
      add(part, "p", {className: "live-answer", textContent: line});
      return;
    }
    const total = values.reduce((sum, each) => sum + each, 0);
    const isShare = low >= 0 && Math.abs(total - 1) < 0.02;
    const word = (value) => isShare ? (100 * value).toFixed(1) + " %" : short(value);
    const best = values.indexOf(high);
    add(part, "p", {className: "live-answer", textContent: `${name(best)}: ${word(high)}`});
    const order = values.map((_, i) => i);
    if (values.length > 16) order.sort((a, b) => values[b] - values[a] || a - b).splice(16);
    const table = add(part, "table"), body = add(table, "tbody");
    add(table, "caption", {textContent: values.length > 16 ? "the 16 largest values" : "all values"});
    for (const i of order) {
      const row = add(body, "tr");
      const width = 100 * (values[i] - Math.min(low, 0)) / ((high - Math.min(low, 0)) || 1);
      add(row, "th", {scope: "row", textContent: name(i)});
      const bar = add(add(row, "td", {className: "live-bar"}), "div");
      bar.style.width = width + "%";
      add(row, "td", {className: "n", textContent: word(values[i])});
    }
  }

  function run() {
    const begin = performance.now();
    const outputs = net.run(inputs);
    const time = performance.now() - begin;
    results.replaceChildren();
    outputs.forEach((values, i) => show(values, HalftoneNet.outputs[i]));
    add(results, "p", {className: "detail", textContent: time < 0.1 ? "computed here in less than 0.1 ms" :
      `computed here in ${time.toFixed(1)} ms`});
  }

  /* The range that pixels have: that of three which fits the codes, else from 0 to 1. */
  const ranges = {"0 to 1": [0, 1], "-1 to 1": [-1, 1], "0 to 255": [0, 255], "-128 to 127": [-128, 127]};

  function likelyRange(port) {
    if (!port.scale) return "0 to 1";
    const low = port.scale * (-128 - port.zero_point), high = port.scale * (127 - port.zero_point);
    const distance = (key) => Math.abs(Math.log((ranges[key][1] - ranges[key][0]) / (high - low))) +
      Math.abs(ranges[key][0] - low) / (high - low);
    return Object.keys(ranges).reduce((a, b) => distance(b) < distance(a) ? b : a);
  }

  function addRange(parent, port, changed) {
    const label = add(parent, "label", {textContent: "values of pixels "});
    const select = add(label, "select");
    for (const key of Object.keys(ranges)) add(select, "option", {value: key, textContent: key});
    select.value = likelyRange(port);
    select.addEventListener("change", changed);
    return () => ranges[select.value];
  }

  /* White strokes on black, centred as in MNIST: the longer side has 20 of 28 pixels, and the centre
   * of mass is in the middle. */
  function addDrawing(port, index, side) {
    const size = 280, edge = size / side;
    const pad = add(controls, "canvas", {width: size, height: size, className: "live-pad", tabIndex: 0});
    pad.setAttribute("role", "img");
    pad.setAttribute("aria-label", "a black square to draw on");
    const small = add(controls, "canvas", {width: side, height: side, className: "live-small"});
    small.setAttribute("role", "img");
    small.setAttribute("aria-label", "what the network sees");
    const pen = pad.getContext("2d", {willReadFrequently: true});
    const seen = small.getContext("2d", {willReadFrequently: true});
    const buttons = add(controls, "p");
    add(buttons, "button", {type: "button", textContent: "Clear"}).addEventListener("click", clear);
    const range = addRange(buttons, port, update);

    function grey(context, width) {
      return context.getImageData(0, 0, width, width).data.filter((_, i) => i % 4 === 0);
    }

    function place(box, x, y) {
      const scale = (20 / 28) * side / Math.max(box.width, box.height);
      seen.fillStyle = "black";
      seen.fillRect(0, 0, side, side);
      seen.imageSmoothingQuality = "high";
      seen.drawImage(pad, box.left, box.top, box.width, box.height, x - scale * box.width / 2,
        y - scale * box.height / 2, scale * box.width, scale * box.height);
    }

    function inked() {
      const pixels = grey(pen, size);
      let left = size, top = size, right = -1, bottom = -1;
      pixels.forEach((value, i) => {
        if (value < 32) return;
        const x = i % size, y = (i - x) / size;
        left = Math.min(left, x), right = Math.max(right, x);
        top = Math.min(top, y), bottom = Math.max(bottom, y);
      });
      return {left, top, width: right - left + 1, height: bottom - top + 1};
    }

    function update() {
      const box = inked(), middle = side / 2;
      if (box.width <= 0) return;
      place(box, middle, middle);
      let mass = 0, x = 0, y = 0;
      grey(seen, side).forEach((value, i) => {
        mass += value, x += value * (i % side + 0.5), y += value * (Math.floor(i / side) + 0.5);
      });
      place(box, 2 * middle - x / mass, 2 * middle - y / mass);
      const [low, high] = range();
      grey(seen, side).forEach((value, i) => { inputs[index][i] = low + (high - low) * value / 255; });
      run();
    }

    function clear() {
      pen.fillStyle = "black";
      pen.fillRect(0, 0, size, size);
      seen.fillStyle = "black";
      seen.fillRect(0, 0, side, side);
      results.replaceChildren();
      add(results, "p", {className: "detail", textContent: "Draw with the mouse or a finger."});
    }

    function position(event) {
      const box = pad.getBoundingClientRect();
      return [(event.clientX - box.left) * size / box.width, (event.clientY - box.top) * size / box.height];
    }

    pad.addEventListener("pointerdown", (event) => {
      pad.setPointerCapture(event.pointerId);
      Object.assign(pen, {lineWidth: 2.8 * edge, lineCap: "round", lineJoin: "round", strokeStyle: "white"});
      pen.beginPath();
      pen.moveTo(...position(event));
    });
    pad.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      pen.lineTo(...position(event));
      pen.stroke();
    });
    pad.addEventListener("pointerup", update);
    clear();
  }

  /* A picture of a file, scaled to the input. */
  function addPicture(port, index, height, width) {
    const canvas = add(controls, "canvas", {width, height, className: "live-picture"});
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "what the network sees");
    const context = canvas.getContext("2d", {willReadFrequently: true});
    const label = add(add(controls, "p"), "label", {textContent: "a picture "});
    const file = add(label, "input", {type: "file", accept: "image/*"});
    const range = addRange(add(controls, "p"), port, update);

    function update() {
      const pixels = context.getImageData(0, 0, width, height).data, [low, high] = range();
      let next = 0;
      pixels.forEach((value, i) => {
        if (i % 4 !== 3) inputs[index][next++] = low + (high - low) * value / 255;
      });
      run();
    }

    file.addEventListener("change", async () => {
      if (!file.files.length) return;
      const picture = await createImageBitmap(file.files[0]);
      context.drawImage(picture, 0, 0, width, height);
      update();
    });
    update();
  }

  /* A sound of the microphone or of a file. */
  function addSound(port, index) {
    const seconds = HalftoneSound.samples(port) / HalftoneSound.rate;
    add(controls, "p", {className: "detail", textContent: HalftoneSound.kind(port) === "features"
      ? "The network hears a second of sound as the 49 x 10 features of MLPerf Tiny, which are computed here."
      : `The network hears ${seconds} s of sound, ${HalftoneSound.rate} samples in a second.`});
    const buttons = add(controls, "p");
    const button = add(buttons, "button", {type: "button", textContent: "Listen", className: "live-listen"});
    const label = add(buttons, "label", {textContent: " a sound file "});
    const file = add(label, "input", {type: "file", accept: "audio/*"});
    const message = add(controls, "p", {className: "detail", role: "status"});

    async function hear(samples) {
      try {
        inputs[index].set(HalftoneSound.values(port, await samples));
        message.textContent = "";
        run();
      } catch (error) {
        message.textContent = `no sound: ${error.message}`;
      }
    }

    button.addEventListener("click", async () => {
      message.textContent = "speak now";
      button.disabled = true;
      await hear(HalftoneSound.listen(HalftoneSound.samples(port)));
      button.disabled = false;
    });
    file.addEventListener("change", async () => {
      if (file.files.length) await hear(file.files[0].arrayBuffer().then((each) => HalftoneSound.decode(each)));
    });
    add(results, "p", {className: "detail", textContent: "Press Listen and say a word, or choose a file."});
  }

  function addNumbers(port, index) {
    const label = add(controls, "label", {textContent: `${port.name}: ${port.size} numbers, ` +
      `[${port.shape.join(", ")}]`});
    const box = add(label, "textarea", {rows: 4, spellcheck: false});
    const message = add(controls, "p", {className: "detail", role: "status"});
    const buttons = add(controls, "p");

    function update() {
      const numbers = box.value.split(/[\s,;]+/).filter((word) => word !== "").map(Number);
      const isGood = numbers.length === port.size && numbers.every(Number.isFinite);
      message.textContent = isGood ? "" : `expected ${port.size} numbers, found ${numbers.length}`;
      if (!isGood) return;
      inputs[index].set(numbers);
      run();
    }

    function fill(next) {
      box.value = Array.from({length: port.size}, next).join(" ");
      update();
    }

    box.addEventListener("input", update);
    const low = port.scale ? port.scale * (-128 - port.zero_point) : -1;
    const high = port.scale ? port.scale * (127 - port.zero_point) : 1;
    for (const [text, next] of [["Zeros", () => 0],
                                ["Random", () => (low + (high - low) * Math.random()).toFixed(4)]]) {
      add(buttons, "button", {type: "button", textContent: text}).addEventListener("click", () => fill(next));
    }
    fill(() => 0);
  }

  HalftoneNet.inputs.forEach((port, index) => {
    const extents = port.shape.filter((each) => each !== 1);
    const [height, width, channels] = port.shape.slice(-3);
    const side = Math.round(Math.sqrt(port.size));
    const isOne = HalftoneNet.inputs.length === 1;
    const isSquare = extents.every((each) => each === side) || extents.length === 1;
    if (isOne && HalftoneSound.kind(port)) {
      addSound(port, index);
    } else if (isOne && isSquare && side * side === port.size && side >= 8 && side <= 64) {
      addDrawing(port, index, side);
    } else if (isOne && port.shape.length === 4 && channels === 3) {
      addPicture(port, index, height, width);
    } else {
      addNumbers(port, index);
    }
  });
})();
