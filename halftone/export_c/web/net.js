class HalftoneNet {
  /* bytes: the content of the .wasm file, an ArrayBuffer or Uint8Array. */
  static async load(bytes) {
    const {instance} = await WebAssembly.instantiate(bytes, {});
    return new HalftoneNet(instance.exports);
  }

  constructor(module) {
    this.module = module;
  }

  /* The memory of an input or output, with its elements as the network has them. */
  memory(port) {
    const kinds = {float32: Float32Array, int8: Int8Array, uint8: Uint8Array, int32: Int32Array,
      int64: BigInt64Array};
    const at = this.module.arena() + port.offset;
    return new kinds[port.type](this.module.memory.buffer, at, port.size);
  }

  /* Forgets what runs have left for the next one: before another sequence. */
  reset() {
    this.module.reset();
  }

  /* Runs on elements as the network has them, an array for each input: codes where it has codes.
   * Returns an array for each output. */
  runCodes(inputs) {
    if (inputs.length !== HalftoneNet.inputs.length) throw new RangeError("wrong number of inputs");
    HalftoneNet.inputs.forEach((port, i) => {
      if (inputs[i].length !== port.size) {
        throw new RangeError(`${port.name}: expected ${port.size} numbers, found ${inputs[i].length}`);
      }
      this.memory(port).set(inputs[i]);
    });
    this.module.run();
    return HalftoneNet.outputs.map((port) => this.memory(port).slice());
  }

  /* Runs on values: they become codes where the network has codes, and outputs values again. */
  run(inputs) {
    const codes = inputs.map((x, i) => HalftoneNet.codes(HalftoneNet.inputs[i], x));
    return this.runCodes(codes).map((y, i) => HalftoneNet.values(HalftoneNet.outputs[i], y));
  }

  /* The nearest codes of values. */
  static codes(port, values) {
    if (!port.scale) return Array.from(values);
    const low = port.type === "uint8" ? 0 : -128;
    return Array.from(values, (x) =>
      Math.min(low + 255, Math.max(low, Math.round(x / port.scale) + port.zero_point)));
  }

  static values(port, codes) {
    if (!port.scale) return Array.from(codes, Number);
    return Array.from(codes, (q) => port.scale * (q - port.zero_point));
  }
}
