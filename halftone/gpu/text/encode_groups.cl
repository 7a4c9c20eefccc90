// kernels/groups/encoded_rows.h: rows of floats to int8 with a scale for each ENCODING inputs. A
// thread has the inputs of one scale. Codes lie in the order of the inputs. PIECE inputs have an
// integer sum of their own.
KERNEL encode_groups(GLOBAL const float* x, GLOBAL uint* codes, GLOBAL float* scales,
                     GLOBAL float* shares, GLOBAL int* sums, uint cols, uint padded_cols) {
  uint index = GROUP_X() * LOCAL_SIZE() + LOCAL_ID();
  uint begin = index * ENCODING;
  if (begin >= padded_cols) return;
  uint row = GROUP_Y();
  uint end = begin + ENCODING < padded_cols ? begin + ENCODING : padded_cols;
  GLOBAL const float* from = x + row * cols;
  float largest = 0;
  int finite = 1;
  for (uint i = begin; i < end && i < cols; ++i) {
    float magnitude = MAGNITUDE(from[i]);
    finite = finite && is_finite(magnitude);
    largest = magnitude > largest ? magnitude : largest;
  }
  float factor = divided(127.0f, largest);
  int zero = !finite || !is_finite(factor);
  float scale = !finite ? QUIET_NAN : zero ? 0.0f : divided(largest, 127.0f);
  uint num_pieces = padded_cols / PIECE;
  for (uint first = begin; first < end; first += PIECE) {
    int sum = 0;
    for (uint word = first; word < first + PIECE; word += 4) {
      uint four = 0;
      for (uint i = 0; i < 4; ++i) {
        int code = zero || word + i >= cols ? 0 : (int)ROUND(from[word + i] * factor);
        sum += code;
        four |= ((uint)code & 0xFFu) << (8 * i);
      }
      codes[(row * padded_cols + word) / 4] = four;
    }
    uint at = row * num_pieces + first / PIECE;
    scales[at] = scale;
    sums[at] = sum;
    shares[at] = scale * (float)sum;
  }
}
