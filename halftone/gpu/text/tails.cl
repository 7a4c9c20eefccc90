// What is done to a number before it is stored: FUNCTION(op(y, operand)), and up to two steps more
// without a function. An operand with fewer elements is repeated. Op 0 is none, 1 adds, 2 multiplies.
FUNC float with_tail(float x, uint at, GLOBAL const float* operand, uint count, uint op) {
  if (op == 0) return x;
  float y = operand[at % count];
  return op == 1 ? x + y : x * y;
}

#define TAIL_PARAMETERS                                                                       \
  GLOBAL const float *tail_0, uint count_0, uint op_0,                         \
      GLOBAL const float *tail_1, uint count_1, uint op_1, GLOBAL const float *tail_2,        \
      uint count_2, uint op_2
typedef struct {
  GLOBAL const float* operands[3];
  uint counts[3];
  uint ops[3];
} Tails;
#define TAILS(name)           \
  Tails name;                 \
  name.operands[0] = tail_0;  \
  name.operands[1] = tail_1;  \
  name.operands[2] = tail_2;  \
  name.counts[0] = count_0;   \
  name.counts[1] = count_1;   \
  name.counts[2] = count_2;   \
  name.ops[0] = op_0;         \
  name.ops[1] = op_1;         \
  name.ops[2] = op_2;

// at: index of the number in y.
FUNC float with_tails(float x, uint at, Tails tails) {
  x = with_tail(x, at, tails.operands[0], tails.counts[0], tails.ops[0]);
  x = FUNCTION(x);
  x = with_tail(x, at, tails.operands[1], tails.counts[1], tails.ops[1]);
  return with_tail(x, at, tails.operands[2], tails.counts[2], tails.ops[2]);
}
