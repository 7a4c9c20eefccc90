#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning in a loop of PyTorch ends within 0.3 points of `distill` with as many steps.

Usage: torch_fine_tuning_test.py PACKAGE PROGRAM DATA

PACKAGE is the folder of the Python package, PROGRAM is halftone, and the folder DATA has
models/resnet20_cifar10.onnx and cifar10/. ResNet-20 with 2 bits (8 in the first and last layer)
learns from itself as a float network for three epochs of the 7292 lossless training images. The
accuracies of `halftone eval` on the 761 lossless test images are compared, of which one is 0.13
points; those on the training images are printed. Skips with exit code 77 if a package is absent: pip
install numpy torch onnx
"""

import pathlib
import subprocess
import sys
import tempfile

EPOCHS, BATCH, RATE, TEMPERATURE, CALIBRATION = 3, 128, 1e-3, 4.0, 512
LARGEST_GAP = 0.3

try:
    import numpy  # noqa: F401
    import onnx  # noqa: F401
    import torch
    from torch.nn import functional
except ImportError as error:
    print(f"{error}; pip install numpy torch onnx")
    sys.exit(77)


def augmented(images):
    """Mirrored with probability 1/2, and cropped behind a border of 4 pixels."""
    flip = torch.rand(len(images)) < 0.5
    images = torch.where(flip[:, None, None, None], images.flip(3), images)
    padded = functional.pad(images, (4, 4, 4, 4))
    corners = torch.randint(0, 9, (len(images), 2)).tolist()
    return torch.stack([image[:, y : y + 32, x : x + 32] for image, (y, x) in zip(padded, corners)])


def distillation_loss(student, teacher):
    scaled = [each / TEMPERATURE for each in (student, teacher)]
    return TEMPERATURE**2 * functional.kl_div(
        scaled[0].log_softmax(1), scaled[1].log_softmax(1), log_target=True, reduction="batchmean")


def fine_tuned(path, images):
    """The file of the network that a loop like any other has trained."""
    import halftone as ht
    import halftone.torch
    from torch_networks import resnet20

    torch.manual_seed(0)
    teacher, net = resnet20(path), resnet20(path)
    halftone.torch.quantize_(net, images[:CALIBRATION], weight_bits=2, activation_bits=2, ends=8,
                             trainable=True, progress=False)
    steps = EPOCHS * (len(images) // BATCH)
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(EPOCHS):
        net.train()
        for index in torch.randperm(len(images))[: len(images) // BATCH * BATCH].split(BATCH):
            x = augmented(images[index])
            with torch.no_grad():
                answers = teacher(x)
            loss = distillation_loss(net(x), answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)
    halftone.torch.freeze_(net.eval())
    return ht.load(net, example=images[:2])


def main(package, program, data):
    sys.path[:0] = [package, str(pathlib.Path(__file__).parents[1] / "python/tests")]
    torch.set_num_threads(2)
    from torch_networks import records

    model = data / "models/resnet20_cifar10.onnx"
    train, test = (data / f"cifar10/lossless_{name}.bin" for name in ("train_7292", "test_761"))
    if not train.exists():
        print(f"{train}: absent")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        ours, loop = f"{folder}/distilled.circle", f"{folder}/loop.onnx"
        fine_tuned(model, records(train)[0]).save(loop)
        run = [program, "distill", "--teacher", model, "-o", ours, "--data", train, "--batch", BATCH,
               "--calibration", CALIBRATION, "--flip", "--crop", 4, "--epochs", EPOCHS,
               "--learning-rate", RATE, "--temperature", TEMPERATURE, "--weight-bits", 2,
               "--activation-bits", 2, "--ends", 8, "--quiet"]
        subprocess.run(list(map(str, run)), check=True)
        found = {}
        for name, file in (("distill", ours), ("loop of PyTorch", loop)):
            found[name] = [
                float(subprocess.run([program, "eval", file, "--data", str(each)], check=True,
                                     capture_output=True, text=True).stdout.split()[1])
                for each in (test, train)
            ]
            print(f"{name}: {found[name][0]} % of the test images, {found[name][1]} % of "
                  "the training images")
    gap = found["distill"][0] - found["loop of PyTorch"][0]
    print(f"gap: {gap:.2f} points")
    return 0 if gap <= LARGEST_GAP else 1


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])))
