# SPDX-License-Identifier: Apache-2.0
# Compares simulated cycles with those that `halftone estimate --json` predicts for one layer.
# Usage: awk -v layer=NAME -v clock_hz=HZ -f agree.awk CYCLES.txt ESTIMATE.json
NR == FNR { simulated = $1; next }
/"name":/ { name = $2; gsub(/[",]/, "", name) }
name == layer && /"compute_seconds":/ { estimated = sprintf("%.0f", $2 * clock_hz) }
END {
  printf "%s: %s cycles simulated, %s estimated\n", layer, simulated, estimated
  exit simulated == "" || simulated != estimated
}
