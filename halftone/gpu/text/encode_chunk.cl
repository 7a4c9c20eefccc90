// Encodes a part of a row in the memory of a block of threads: the bits of encode_groups.cl.
// CHUNK_INPUTS: of a part at most, a multiple of ENCODING.
typedef struct {
  int codes[CHUNK_INPUTS / 4];
  float scales[CHUNK_INPUTS / PIECE];
  float shares[CHUNK_INPUTS / PIECE];
  int sums[CHUNK_INPUTS / PIECE];
  float largest[CHUNK_INPUTS / 4];  // of four inputs; infinite if one is infinite or NaN
} EncodedChunk;

// Inputs begin to end - 1 of a row. All threads of the block take part.
FUNC void encode_chunk(TO_SHARED EncodedChunk* to, GLOBAL const float* x, uint cols, uint begin,
                       uint end) {
  uint words = (end - begin) / 4;
  for (uint w = LOCAL_ID(); w < words; w += LOCAL_SIZE()) {
    float largest = 0;
    for (uint i = begin + 4 * w; i < begin + 4 * w + 4 && i < cols; ++i) {
      float magnitude = is_finite(x[i]) ? MAGNITUDE(x[i]) : INFINITE;
      largest = magnitude > largest ? magnitude : largest;
    }
    to->largest[w] = largest;
  }
  BARRIER();
  for (uint w = LOCAL_ID(); w < words; w += LOCAL_SIZE()) {
    uint first = w / (ENCODING / 4) * (ENCODING / 4);
    float largest = 0;
    for (uint i = first; i < first + ENCODING / 4 && i < words; ++i) {
      largest = to->largest[i] > largest ? to->largest[i] : largest;
    }
    int finite = is_finite(largest);
    float factor = divided(127.0f, largest);
    int zero = !finite || !is_finite(factor);
    uint four = 0;
    for (uint i = 0; i < 4; ++i) {
      uint at = begin + 4 * w + i;
      int code = zero || at >= cols ? 0 : (int)ROUND(x[at] * factor);
      four |= ((uint)code & 0xFFu) << (8 * i);
    }
    to->codes[w] = (int)four;
    if (w % (PIECE / 4) == 0) {
      to->scales[w / (PIECE / 4)] = !finite ? QUIET_NAN : zero ? 0.0f : divided(largest, 127.0f);
    }
  }
  BARRIER();
  for (uint p = LOCAL_ID(); p < (end - begin) / PIECE; p += LOCAL_SIZE()) {
    int sum = 0;
    for (uint w = p * (PIECE / 4); w < (p + 1) * (PIECE / 4); ++w) {
      sum = dot4(to->codes[w], 0x01010101, sum);
    }
    to->sums[p] = sum;
    to->shares[p] = to->scales[p] * (float)sum;
  }
  BARRIER();
}
