// SPDX-License-Identifier: Apache-2.0
// Classifies the images of a folder, many at a time, on several threads:
//
//     classify model.circle FOLDER [THREADS] [BATCH]
//
// Prints a line for each image, in the order of their names: its name, the class, its score.
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <halftone/halftone.hpp>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// How the network wants an image: its number of channels, and whether they come first.
struct Layout {
  std::size_t elements = 0;
  int channels = 1;
  bool channels_first = false;
};

Layout layout_of(const halftone::Port& input) {
  Layout layout{1};
  for (std::size_t axis = 1; axis < input.extents.size(); ++axis) {
    layout.elements *= static_cast<std::size_t>(input.extents[axis]);
  }
  if (input.extents.size() == 4) {
    layout.channels_first = input.extents[1] <= 4;
    layout.channels = static_cast<int>(input.extents[layout.channels_first ? 1 : 3]);
  }
  return layout;
}

/// Reads an image into [elements] values from 0 to 1.
void read_image(const fs::path& file, const Layout& layout, float* values) {
  int width = 0;
  int height = 0;
  int stored_channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load(file.c_str(), &width, &height, &stored_channels, layout.channels), stbi_image_free);
  if (!pixels) throw std::runtime_error(file.string() + ": " + stbi_failure_reason());
  const auto area = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const auto channels = static_cast<std::size_t>(layout.channels);
  if (area * channels != layout.elements) {
    throw std::runtime_error(file.string() + ": expected " + std::to_string(layout.elements) +
                             " numbers, found " + std::to_string(width) + " x " +
                             std::to_string(height) + " pixels of " + std::to_string(channels));
  }
  for (std::size_t i = 0; i < area; ++i) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t at = layout.channels_first ? c * area + i : i * channels + c;
      values[at] = static_cast<float>(pixels.get()[i * channels + c]) / 255;
    }
  }
}

struct Answer {
  std::size_t best = 0;
  float score = 0;
};

/// The images and their answers, of which threads take one batch after another.
class Work {
 public:
  Work(std::vector<fs::path> files, std::size_t batch)
      : files_(std::move(files)), answers_(files_.size()), batch_(batch) {}

  /// Answers batches until none is left. Each thread has a session of its own.
  void run(const halftone::Plan& plan) {
    halftone::Session session(plan);
    const Layout layout = layout_of(plan.inputs().front());
    halftone::Tensor images(halftone::Type::kFloat32, {batch_, layout.elements});
    std::vector<float> scores(batch_ *
                              static_cast<std::size_t>(plan.outputs().front().extents.back()));
    const std::span<const std::byte> input = std::as_const(images).bytes();
    const std::span<std::byte> output = std::as_writable_bytes(std::span(scores));
    for (;;) {
      const std::size_t first = next_.fetch_add(batch_);
      if (first >= files_.size()) return;
      const std::size_t count = std::min(batch_, files_.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        read_image(files_[first + i], layout, images.values<float>().data() + i * layout.elements);
      }
      session.run(std::span(&input, 1), std::span(&output, 1));
      keep(first, count, scores);
    }
  }

  void print() const {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      std::printf("%s %zu %.4f\n", files_[i].filename().c_str(), answers_[i].best,
                  static_cast<double>(answers_[i].score));
    }
  }

 private:
  void keep(std::size_t first, std::size_t count, const std::vector<float>& scores) {
    const std::size_t classes = scores.size() / batch_;
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(i * classes);
      const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes));
      answers_[first + i] = {static_cast<std::size_t>(best - begin), *best};
    }
  }

  std::vector<fs::path> files_;
  std::vector<Answer> answers_;
  std::size_t batch_;
  std::atomic<std::size_t> next_{0};
};

std::vector<fs::path> images_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Runs `work` on threads, and passes on the first exception of one.
template <typename Function>
void on_threads(int count, const Function& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  const int batch = argc > 4 ? std::atoi(argv[4]) : 16;
  if (argc < 3 || threads < 1 || batch < 1) {
    std::fprintf(stderr, "usage: classify MODEL FOLDER [THREADS] [BATCH]\n");
    return 2;
  }
  try {
    halftone::PlanOptions options;
    options.batch = static_cast<std::size_t>(batch);
    const halftone::Plan plan(halftone::load(argv[1]), options);
    Work work(images_in(argv[2]), options.batch);
    on_threads(threads, [&] { work.run(plan); });
    work.print();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "classify: %s\n", error.what());
    return 1;
  }
  return 0;
}
