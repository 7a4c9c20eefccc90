/* Sounds as inputs of a network: samples, or the features of keyword spotting in MLPerf Tiny. */
const HalftoneSound = {
  rate: 16000, /* samples in a second */

  /* What an input takes: "samples", "features" or null, by its shape. */
  kind(port) {
    const extents = port.shape.filter((each) => each !== 1);
    if (extents.length === 1 && port.size >= 4000) return "samples";
    return extents.length === 2 && extents[0] === 49 && extents[1] === 10 ? "features" : null;
  },

  samples(port) {
    return this.kind(port) === "samples" ? port.size : this.rate;
  },

  /* The values of an input for samples from -1 to 1; missing ones are silence. */
  values(port, samples) {
    const whole = new Float64Array(this.samples(port));
    whole.set(samples.slice(0, whole.length));
    return this.kind(port) === "samples" ? Float32Array.from(whole) : this.features(whole);
  },

  /* How much each of 40 mel bands from 20 to 4000 Hz takes of each frequency of a spectrum. */
  bands(frequencies) {
    const mel = (hertz) => 1127 * Math.log1p(hertz / 700);
    const edge = (i) => mel(20) + (mel(4000) - mel(20)) * i / 41;
    return Array.from({length: 40}, (_, band) => Array.from({length: frequencies}, (_, k) => {
      const at = mel(k * (this.rate / 2) / (frequencies - 1));
      const up = (at - edge(band)) / (edge(band + 1) - edge(band));
      const down = (edge(band + 2) - at) / (edge(band + 2) - edge(band + 1));
      return k === 0 ? 0 : Math.max(0, Math.min(up, down));
    }));
  },

  /* 49 frames of 30 ms, one each 20 ms, with ten cepstral coefficients each, as TensorFlow's signal
   * library computes them. The largest sample becomes 1. */
  features(samples) {
    const width = 480, step = 320, points = 512, frequencies = points / 2 + 1;
    const cosines = Float64Array.from({length: points}, (_, i) => Math.cos(2 * Math.PI * i / points));
    const bands = this.bands(frequencies), largest = Math.max(...samples) || 1;
    const result = new Float32Array(49 * 10);
    for (let frame = 0; frame < 49; ++frame) {
      const x = Float64Array.from({length: width}, (_, n) =>
        samples[frame * step + n] / largest * (0.5 - 0.5 * Math.cos(2 * Math.PI * n / width)));
      const spectrum = Float64Array.from({length: frequencies}, (_, k) => {
        let real = 0, imaginary = 0;
        for (let n = 0; n < width; ++n) {
          real += x[n] * cosines[k * n % points];
          imaginary += x[n] * cosines[(k * n + points / 4) % points];
        }
        return Math.hypot(real, imaginary);
      });
      const logs = bands.map((band) =>
        Math.log(band.reduce((sum, each, k) => sum + each * spectrum[k], 0) + 1e-6));
      for (let c = 0; c < 10; ++c) {
        const sum = logs.reduce((all, log, i) => all + log * Math.cos(Math.PI * c * (i + 0.5) / 40), 0);
        result[frame * 10 + c] = 2 * sum / Math.sqrt(80);
      }
    }
    return result;
  },

  /* The samples of a sound file, of the first channel. */
  async decode(bytes) {
    const sound = await new OfflineAudioContext(1, 1, this.rate).decodeAudioData(bytes);
    return sound.getChannelData(0);
  },

  /* So many samples of the microphone. */
  async listen(count) {
    const stream = await navigator.mediaDevices.getUserMedia({audio: {channelCount: 1}});
    const recorder = new MediaRecorder(stream), parts = [];
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    const ends = new Promise((done) => recorder.addEventListener("stop", done));
    recorder.start();
    setTimeout(() => recorder.stop(), 1000 * count / this.rate + 100);
    await ends;
    stream.getTracks().forEach((track) => track.stop());
    return this.decode(await new Blob(parts).arrayBuffer());
  },
};
