// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/graph_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/fold.h"
#include "halftone/report/page/layout.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

constexpr std::size_t kMaxOpenNetwork = 12;  ///< nodes of a network without blocks
constexpr std::size_t kMaxOpenBlock = 40;    ///< nodes of a block without blocks
constexpr std::size_t kMaxBoxName = 30;      ///< characters
constexpr std::size_t kMaxBoxNote = 40;
constexpr std::size_t kMaxPorts = 8;  ///< boxes for nodes outside of a block
// In pixels.
constexpr double kBoxHeight = 34;
constexpr double kPortHeight = 20;
constexpr double kBoxCharacter = 6.3;
constexpr double kBoxPadding = 8;
constexpr double kWideNet = 600;
constexpr double kPageWidth = 1340;

/// What a box shows.
struct BoxText {
  std::string classes;
  std::string name;
  std::string note;    ///< a second line; empty for none
  std::string title;   ///< text under the pointer
  std::string link{};  ///< an id of the page; empty: none
  std::string id{};
};

/// The length of what all names begin with, up to a '/' or '.'.
std::size_t common_scope(const std::vector<Block>& blocks) {
  if (blocks.size() < 2) return 0;
  std::string common = blocks.front().name;
  for (const Block& block : blocks) {
    const auto end = std::ranges::mismatch(common, block.name).in1;
    common.erase(end, common.end());
  }
  return common.find_last_of("/.") + 1;
}

struct Network {
  const ReportGraph& graph;
  const std::vector<std::string>& labels;
  const std::vector<LayerLook>& looks;
  std::size_t num_blocks = 0;                  ///< that have an id
  std::map<std::string, std::string> drawn{};  ///< names of drawn blocks, by alike_key()
};

/// One picture: boxes from outside the nodes first, then the blocks.
struct Net {
  std::vector<BoxText> texts;
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
};

std::size_t bytes_of(const ReportGraph& graph, const std::vector<std::size_t>& nodes) {
  std::size_t sum = 0;
  for (const std::size_t node : nodes) sum += graph.nodes[node].bytes;
  return sum;
}

/// "12 nodes, 3.4 KiB"
std::string size_text(const ReportGraph& graph, const std::vector<std::size_t>& nodes) {
  const std::size_t bytes = bytes_of(graph, nodes);
  return fmt::format("{} nodes", nodes.size()) + (bytes > 0 ? ", " + format_bytes(bytes) : "");
}

/// " e1 s0": the classes of the most heated of the layers among some nodes.
std::string heats_of(const Network& network, const std::vector<std::size_t>& nodes) {
  LayerLook most;
  for (const std::size_t index : nodes) {
    const ReportNode& node = network.graph.nodes[index];
    if (!node.layer || *node.layer >= network.looks.size()) continue;
    const LayerLook& look = network.looks[*node.layer];
    most.error = std::max(most.error, look.error);
    most.size = std::max(most.size, look.size);
    most.time = std::max(most.time, look.time);
  }
  std::string classes;
  if (most.error) classes += fmt::format(" e{}", *most.error);
  if (most.size) classes += fmt::format(" s{}", *most.size);
  if (most.time) classes += fmt::format(" t{}", *most.time);
  return classes;
}

BoxText node_text(const Network& network, std::size_t index) {
  const ReportNode& node = network.graph.nodes[index];
  std::string note = node.op;
  if (node.layer && *node.layer < network.labels.size()) note += ", " + network.labels[*node.layer];
  std::string classes = "box";
  if (node.layer) classes = "layer";
  if (node.op == "Input") classes = "port";
  BoxText text{classes + heats_of(network, {index}), node.name, note,
               node.name + ": " + note + ", " + node.type};
  if (node.layer && *node.layer < network.looks.size()) {
    text.link = fmt::format("l{}", *node.layer);
    text.id = fmt::format("g{}", *node.layer);
  }
  return text;
}

BoxText block_text(const Network& network, const Block& block) {
  if (block.nodes.size() == 1) return node_text(network, block.nodes.front());
  const std::string size = size_text(network.graph, block.nodes);
  return {"fold" + heats_of(network, block.nodes), block.name, size, block.name + ": " + size};
}

void add_box(Net& net, BoxText text) {
  text.name = short_name(text.name, kMaxBoxName);
  text.note = shortened(text.note, kMaxBoxNote);
  const auto characters = static_cast<double>(
      std::max({num_characters(text.name), num_characters(text.note), std::size_t{6}}));
  const double height = text.note.empty() ? kPortHeight : kBoxHeight;
  // Even, so that both sides are whole pixels.
  const double width = 2 * std::round(kBoxCharacter / 2 * characters + kBoxPadding);
  net.boxes.push_back({width, height, 0, 0});
  net.texts.push_back(std::move(text));
}

/// The boxes that nodes belong to.
using Owners = std::map<std::size_t, std::size_t>;

/// Adds boxes for the nodes outside that some nodes read; the last is for all that remain.
Owners add_ports(Net& net, const ReportGraph& graph, const Owners& inside) {
  Owners ports;
  for (const auto& [node, block] : inside) {
    for (const std::size_t input : graph.nodes[node].inputs) {
      if (!inside.contains(input)) ports[input] = 0;
    }
  }
  const std::size_t num_named = ports.size() > kMaxPorts ? kMaxPorts - 1 : ports.size();
  for (auto& [node, box] : ports) {
    box = std::min(net.boxes.size(), num_named);
    if (box < net.boxes.size()) continue;
    std::string name = "from " + graph.nodes[node].name;
    if (box == num_named) name = fmt::format("from {} others", ports.size() - num_named);
    add_box(net, {"port", name, "", name});
  }
  return ports;
}

Net net_of(const Network& network, const std::vector<Block>& blocks) {
  Net net;
  Owners owner;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const std::size_t node : blocks[b].nodes) owner[node] = b;
  }
  const Owners ports = add_ports(net, network.graph, owner);
  const std::size_t num_ports = net.boxes.size();
  const std::size_t scope = common_scope(blocks);
  for (const Block& block : blocks) {
    BoxText text = block_text(network, block);
    if (text.name.size() > scope) text.name.erase(0, scope);
    add_box(net, std::move(text));
  }
  std::set<LayoutEdge> edges;
  for (const auto& [node, block] : owner) {
    for (const std::size_t input : network.graph.nodes[node].inputs) {
      const auto inside = owner.find(input);
      const std::size_t from = inside == owner.end() ? ports.at(input) : num_ports + inside->second;
      if (from != num_ports + block) edges.emplace(from, num_ports + block);
    }
  }
  net.edges.assign(edges.begin(), edges.end());
  return net;
}

std::string box_picture(const LayoutBox& box, const BoxText& text) {
  const double middle = box.x + box.width / 2;
  const bool is_fold = text.classes.starts_with("fold");
  const bool has_space = text.classes.find(' ') != std::string::npos;
  const std::string quote = has_space ? "\"" : "";
  const std::string id = text.id.empty() ? "" : " id=" + text.id;
  const std::string open =
      text.link.empty() ? "<g" + id + ">" : "<a" + id + " href=\"#" + text.link + "\">";
  std::string content = open + "<title>" + markup(text.title) + "</title><path class=" + quote +
                        text.classes + quote + " d=\"M" + pixels(box.x) + " " + pixels(box.y) +
                        "h" + pixels(box.width) + "v" + pixels(box.height) + "H" + pixels(box.x) +
                        "z\"/>" + label(middle, box.y + 14, is_fold ? "strong" : "", text.name);
  if (!text.note.empty()) content += label(middle, box.y + 28, "soft", text.note);
  return content + (text.link.empty() ? "</g>\n" : "</a>\n");
}

/// As low as fits the width of a page.
Layout wide_layout(const Net& net) {
  for (const double height : {150.0, 220.0, 320.0, 450.0}) {
    Layout layout = layered(net.boxes, net.edges, height);
    if (layout.width <= kPageWidth) return layout;
  }
  return layered(net.boxes, net.edges);
}

std::string net_picture(const Net& net, const std::string& name) {
  const Layout layout = wide_layout(net);
  std::string content =
      "<path class=edge d=\"" + layout.edges + "\"/><path class=tip d=\"" + layout.tips + "\"/>\n";
  if (layout.edges.empty()) content.clear();
  for (std::size_t i = 0; i < net.texts.size(); ++i) {
    content += box_picture(layout.boxes[i], net.texts[i]);
  }
  const std::string width = pixels(layout.width);
  const std::string height = pixels(layout.height);
  // What is wider than a page scrolls, by keyboard too.
  const std::string scroll = layout.width > kWideNet ? " tabindex=0" : "";
  return "<div class=scroll" + scroll + "><svg class=net role=img aria-label=\"" + markup(name) +
         "\" width=" + width + " height=" + height + " viewBox=\"0 0 " + width + " " + height +
         "\">" + content + "</svg></div>\n";
}

/// A name without its numbers: "stage#/block#/conv#".
std::string numberless(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && result.ends_with('#')) continue;
    result += is_digit ? '#' : c;
  }
  return result;
}

/// Equal for blocks with the same picture, but for the numbers in names.
std::string alike_key(const Network& network, const Block& block) {
  std::map<std::size_t, std::size_t> position;
  for (const std::size_t node : block.nodes) position.emplace(node, position.size());
  std::string key;
  for (const std::size_t index : block.nodes) {
    const ReportNode& node = network.graph.nodes[index];
    key += fmt::format("{}\n{}\n{}\n{}", numberless(node.name), node.op, node.type, node.bytes);
    if (node.layer && *node.layer < network.labels.size()) key += network.labels[*node.layer];
    key += heats_of(network, {index});
    for (const std::size_t input : node.inputs) {
      const auto inside = position.find(input);
      // Values from outside, by the order in which they are first read.
      const std::size_t from =
          inside != position.end()
              ? inside->second
              : position.emplace(input, block.nodes.size() + position.size()).first->second;
      key += fmt::format("\n{}", from);
    }
    key += "\n\n";
  }
  return key;
}

/// Consecutive blocks that look like one that is drawn.
struct Alike {
  std::string drawn;
  const Block* first = nullptr;
  const Block* last = nullptr;
};

/// "stage0/1 to stage0/9: each the same as stage0/0"
std::string alike_line(const Alike& run) {
  if (run.first == nullptr) return "";
  const bool is_single = run.first == run.last;
  const std::string names =
      run.first->name +
      (is_single ? ": the same as " : " to " + run.last->name + ": each the same as ");
  return "<p class=alike>" + markup(names + run.drawn) + "</p>\n";
}

/// Ids of the layers of a block that is not drawn, so that links to them arrive.
std::string anchors(const Network& network, const Block& block) {
  std::string html;
  for (const std::size_t index : block.nodes) {
    const std::optional<std::size_t>& layer = network.graph.nodes[index].layer;
    if (layer && *layer < network.looks.size()) html += fmt::format("<span id=g{}></span>", *layer);
  }
  return html;
}

std::string section(Network& network, const Block& whole, std::size_t max_nodes);

/// The blocks of a picture, below it; their links are set in its boxes.
std::string folded_blocks(Network& network, const std::vector<Block>& blocks, Net& net) {
  std::string content;
  Alike run;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Block& block = blocks[b];
    if (block.nodes.size() == 1) continue;
    const auto [drawn, is_new] = network.drawn.try_emplace(alike_key(network, block), block.name);
    if (!is_new) content += anchors(network, block);
    if (!is_new && run.first != nullptr && run.drawn == drawn->second) {
      run.last = &block;
      continue;
    }
    content += alike_line(run);
    run = is_new ? Alike{} : Alike{drawn->second, &block, &block};
    if (!is_new) continue;
    std::string id;
    if (!network.looks.empty()) {
      const std::string name = fmt::format("b{}", network.num_blocks++);
      net.texts[net.texts.size() - blocks.size() + b].link = name;
      id = " id=" + name;
    }
    content += "<details class=block" + id + "><summary>" + markup(block.name) + ": " +
               size_text(network.graph, block.nodes) + "</summary>\n" +
               section(network, block, kMaxOpenBlock) + "</details>\n";
  }
  content += alike_line(run);
  return content.empty() ? "" : "<div class=blocks>\n" + content + "</div>\n";
}

std::string section(Network& network, const Block& whole, std::size_t max_nodes) {
  const std::vector<Block> blocks = blocks_of(network.graph, whole.nodes, max_nodes);
  const std::string name = fmt::format("Graph of {}: {} boxes", whole.name, blocks.size());
  Net net = net_of(network, blocks);
  const std::string below = folded_blocks(network, blocks, net);
  return net_picture(net, name) + below;
}

}  // namespace

std::string graph_picture(const ReportGraph& graph, const std::vector<std::string>& layer_labels,
                          const std::vector<LayerLook>& looks) {
  Block whole{"the network", {}};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) whole.nodes.push_back(i);
  if (whole.nodes.empty()) return "<div class=graph></div>\n";
  Network network{graph, layer_labels, looks};
  return "<div class=graph>\n" + section(network, whole, kMaxOpenNetwork) + "</div>\n";
}

}  // namespace halftone::report::page
