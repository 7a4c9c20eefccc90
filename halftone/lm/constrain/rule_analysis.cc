// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/rule_analysis.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

/// A rule with which another may begin.
struct Beginning {
  std::size_t rule = 0;
  bool is_last = false;  ///< nothing follows it
};
using Beginnings = std::vector<std::vector<Beginning>>;

Beginnings beginnings_of(const Grammar& grammar) {
  const auto& rules = grammar.rules();
  const std::vector<bool> is_empty =
      rules_that_give(rules, std::vector<bool>(grammar.sets().size(), false));
  Beginnings all(rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const Sequence& sequence : rules[i].choices) {
      for (std::size_t j = 0; j < sequence.size(); ++j) {
        if (sequence[j].kind != Symbol::Kind::kRule) break;
        all[i].push_back({sequence[j].index, j + 1 == sequence.size()});
        if (!is_empty[sequence[j].index]) break;
      }
    }
  }
  return all;
}

/// The strongly connected parts of a graph, by node. Source: Tarjan, SIAM J. Comput. 1(2), 1972.
class Parts {
 public:
  explicit Parts(const Beginnings& edges) : edges_(edges), seen_(edges.size()), low_(seen_) {
    part_.resize(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (seen_[i] == 0) visit(i);
    }
  }
  [[nodiscard]] bool are_together(std::size_t a, std::size_t b) const {
    return part_[a] == part_[b];
  }

 private:
  void enter(std::size_t node) {
    seen_[node] = low_[node] = ++time_;
    path_.emplace_back(node, 0);
    open_.push_back(node);
  }
  void leave(std::size_t node) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().first] = std::min(low_[path_.back().first], low_[node]);
    if (low_[node] != seen_[node]) return;
    ++num_parts_;
    for (std::size_t each = open_.size(); part_[node] == 0; open_.resize(each)) {
      part_[open_[--each]] = num_parts_;
    }
  }
  void visit(std::size_t root) {
    enter(root);
    while (!path_.empty()) {
      const std::size_t node = path_.back().first;
      const std::size_t edge = path_.back().second++;
      if (edge == edges_[node].size()) {
        leave(node);
        continue;
      }
      const std::size_t next = edges_[node][edge].rule;
      if (seen_[next] == 0) {
        enter(next);
      } else if (part_[next] == 0) {
        low_[node] = std::min(low_[node], seen_[next]);
      }
    }
  }

  const Beginnings& edges_;
  std::vector<std::size_t> seen_;  ///< when a node was entered; 0: not yet
  std::vector<std::size_t> low_;
  std::vector<std::size_t> part_;                          ///< 0: none yet
  std::vector<std::pair<std::size_t, std::size_t>> path_;  ///< nodes, and edges followed from each
  std::vector<std::size_t> open_;
  std::size_t time_ = 0;
  std::size_t num_parts_ = 0;
};

}  // namespace

std::vector<bool> rules_that_give(const std::vector<Grammar::Rule>& rules,
                                  const std::vector<bool>& of_sets) {
  struct Waiting {
    std::size_t rule = 0;
    std::size_t missing = 0;
  };
  std::vector<bool> gives(rules.size(), false);
  std::vector<std::size_t> todo;
  const auto found = [&](std::size_t rule) {
    if (!gives[rule]) todo.push_back(rule);
    gives[rule] = true;
  };
  std::vector<Waiting> waiting;
  std::vector<std::vector<std::size_t>> readers(rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const Sequence& sequence : rules[i].choices) {
      const bool is_possible = std::ranges::all_of(sequence, [&](const Symbol& each) {
        return each.kind == Symbol::Kind::kRule || of_sets[each.index];
      });
      if (!is_possible) continue;
      Waiting each{i, 0};
      for (const Symbol& symbol : sequence) {
        if (symbol.kind != Symbol::Kind::kRule) continue;
        readers[symbol.index].push_back(waiting.size());
        ++each.missing;
      }
      if (each.missing == 0) found(i);
      waiting.push_back(each);
    }
  }
  while (!todo.empty()) {
    const std::size_t rule = todo.back();
    todo.pop_back();
    for (const std::size_t reader : readers[rule]) {
      if (--waiting[reader].missing == 0) found(waiting[reader].rule);
    }
  }
  return gives;
}

void check_left_recursion(const Grammar& grammar) {
  const Beginnings beginnings = beginnings_of(grammar);
  const Parts parts(beginnings);
  for (std::size_t i = 0; i < beginnings.size(); ++i) {
    for (const auto& [rule, is_last] : beginnings[i]) {
      if (is_last || !parts.are_together(i, rule)) continue;
      const std::string& name = grammar.rules()[i].name;
      fail(ErrorKind::kUsage, "grammar: rule " + (name.empty() ? "" : "'" + name + "' ") +
                                  "begins with itself; let it end with itself instead");
    }
  }
}

}  // namespace halftone::lm
