// SPDX-License-Identifier: Apache-2.0
// A systolic array of ROWS x COLS cells for C = A B, output- or weight-stationary.
// An operand is a word: with BITS = 8 one int8 (LANES = 1), with BITS = 1 or 2 LANES codes. Code
// bits b_i = +-1 (1 is +1) represent sum_i 2^i b_i; bit i of all lanes lies at [i * LANES +: LANES].

// The dot product of two words, over the lanes in the mask.
module dot_product #(
    parameter int BITS = 2,
    parameter int LANES = 1,
    parameter int WIDTH = BITS == 8 ? 8 : BITS * LANES
) (
    input logic [WIDTH-1:0] a,
    input logic [LANES-1:0] mask,
    input logic [WIDTH-1:0] b,
    output logic signed [31:0] sum
);
  if (BITS == 8) begin : g_int8
    assign sum = mask[0] ? 32'(signed'(a)) * 32'(signed'(b)) : 0;
  end else begin : g_codes
    always_comb begin
      sum = 0;
      for (int i = 0; i < BITS; i++)
        for (int j = 0; j < BITS; j++)
          sum += (2 * $countones(~(a[i*LANES+:LANES] ^ b[j*LANES+:LANES]) & mask)
                  - $countones(mask)) << (i + j);
    end
  end
endmodule

// One cell. Output-stationary: `sum` stays, words of B move down. Weight-stationary: a word of B
// stays, sums move down. Words of A, with their mask and flags, move right.
module systolic_cell #(
    parameter int BITS = 2,
    parameter int LANES = 1,
    parameter int WIDTH = BITS == 8 ? 8 : BITS * LANES
) (
    input logic clk, weight_stationary,
    input logic load,  // weight-stationary: takes a word of B from above
    input logic [WIDTH-1:0] a_in, b_in,
    input logic [LANES-1:0] mask_in,
    input logic first_in,  // output-stationary: this word starts a sum
    input logic last_in,
    input logic signed [31:0] sum_in,
    output logic [WIDTH-1:0] a, b,
    output logic [LANES-1:0] mask,
    output logic first, last,
    output logic signed [31:0] sum
);
  // The simulator compiles one cell for all of the array.
  /* verilator no_inline_module */
  logic signed [31:0] product;
  dot_product #(BITS, LANES) dot (.a(a_in), .mask(mask_in),
                                  .b(weight_stationary ? b : b_in), .sum(product));
  always_ff @(posedge clk) begin
    a <= a_in;
    mask <= mask_in;
    first <= first_in;
    last <= last_in;
    if (!weight_stationary || load) b <= b_in;
    if (weight_stationary) sum <= sum_in + product;
    else sum <= first_in ? product : sum + product;
  end
endmodule

module array #(
    parameter int ROWS = 8,
    parameter int COLS = 8,
    parameter int BITS = 2,
    parameter int LANES = 1,
    parameter int WIDTH = BITS == 8 ? 8 : BITS * LANES
) (
    input logic clk, weight_stationary, load,
    input logic [WIDTH-1:0] a[ROWS],  // enter at the left
    input logic [LANES-1:0] mask[ROWS],
    input logic first[ROWS], last[ROWS],
    input logic [WIDTH-1:0] b[COLS],  // enter at the top
    input logic signed [31:0] sum_in[COLS],
    output logic signed [31:0] sums[ROWS][COLS],
    output logic last_out  // the word marked `last` has passed the last cell
);
  // Between cells: index j is what enters column j, index i what enters row i.
  logic [WIDTH-1:0] a_at[ROWS][COLS+1];
  logic [LANES-1:0] mask_at[ROWS][COLS+1];
  logic first_at[ROWS][COLS+1], last_at[ROWS][COLS+1];
  logic [WIDTH-1:0] b_at[ROWS+1][COLS];
  logic signed [31:0] sum_at[ROWS+1][COLS];

  for (genvar i = 0; i < ROWS; i++) begin : g_row
    assign a_at[i][0] = a[i];
    assign mask_at[i][0] = mask[i];
    assign first_at[i][0] = first[i];
    assign last_at[i][0] = last[i];
    for (genvar j = 0; j < COLS; j++) begin : g_col
      systolic_cell #(BITS, LANES) at (
          .clk, .weight_stationary, .load,
          .a_in(a_at[i][j]), .b_in(b_at[i][j]), .mask_in(mask_at[i][j]),
          .first_in(first_at[i][j]), .last_in(last_at[i][j]), .sum_in(sum_at[i][j]),
          .a(a_at[i][j+1]), .b(b_at[i+1][j]), .mask(mask_at[i][j+1]),
          .first(first_at[i][j+1]), .last(last_at[i][j+1]), .sum(sum_at[i+1][j]));
      assign sums[i][j] = sum_at[i+1][j];
    end
  end
  for (genvar j = 0; j < COLS; j++) begin : g_top
    assign b_at[0][j] = b[j];
    assign sum_at[0][j] = sum_in[j];
  end
  assign last_out = last_at[ROWS-1][COLS];
endmodule
