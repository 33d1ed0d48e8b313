"""Boundary detection under pink noise by max-margin and likelihood training (SK08 Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planaris.experiments.figure import Figure, Params, Record, Result, Settings, file_params
from planaris.experiments.figures.boundary_penalty import LOST, penalty_panels
from planaris.experiments.summaries import PALETTE
from planaris.generate import noisy_mask, shape_mask
from planaris.learn import PlanarCRF
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import BROKEN, DOWN, UP, new_axes
from planaris.typing import Array, BoolArray

SIDE = 100
FEATURES = {
    "paper": ("bias", "difference"),
    "gradient": ("bias", "difference", "gradient"),
}
"""What the paper used; and with the Sobel gradient, which lets noise be told from a step."""
PENALTIES = (1.0, 0.1, 0.01, 0.001)
"""λ of ½λ‖θ‖²: the paper's, and smaller ones, with which the margin has room to grow."""
METHODS = ("margin, MAP", "likelihood, MAP", "likelihood, pixels")
SOURCES = {"other": "learned on another image", "own": "learned on this image"}
PUBLISHED = 0.67
NUM_SAMPLES = 15
RATIO = (
    "S/N 1:8 means that the range of the white noise, before it is convolved with a Gaussian of "
    "one pixel, is eight times the step of the mask. The paper does not say how it measured the "
    "ratio."
)
LESSON = (
    "Two weights are learned on one noisy mask and tested on another; or, as the paper may be "
    "read, learned on the mask that is segmented. "
    f"Pixels: the majority of {NUM_SAMPLES} exact samples."
)
MASK_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")


def trials(settings: Settings) -> list[Params]:
    """Return noise levels, features and masks: made ones, or those of the user."""
    levels = (5, 8) if settings.quick else (5, 6, 7, 8, 9, 10)
    if settings.data is None:
        masks: list[Params] = [{"seed": seed} for seed in range(3 if settings.quick else 24)]
    else:
        files = _mask_files(settings.data)
        masks = [
            file_params(path) | {"seed": 0} for path in (files[:3] if settings.quick else files)
        ]
    return [
        {"noise": noise, "features": features, "lambda": penalty, **mask}
        for mask in masks
        for features in FEATURES
        for noise in levels
        for penalty in (PENALTIES if features == "paper" else PENALTIES[:1])
        if penalty in (PENALTIES[0], PENALTIES[-1]) or not settings.quick
    ]


def _mask_files(folder: Path) -> list[Path]:
    """Return the masks of GrabCut (``ground-truth``) and Weizmann (``figure_ground``), or all."""
    known = [p for name in ("ground-truth", "figure_ground") for p in sorted(folder.rglob(name))]
    return [
        path
        for place in (known or [folder])
        for path in sorted(place.iterdir())
        if path.suffix.lower() in MASK_SUFFIXES and _crop(path, 0) is not None
    ]


def _crop(path: Path, seed: int) -> tuple[BoolArray, Array | None] | None:
    """Return a window of a mask whose opposite corners differ, and of its photograph.

    None where the mask is too small or a thousand windows show no boundary.
    """
    from planaris.io.images import read_image, read_mask

    mask = read_mask(path)
    if min(mask.shape) < SIDE:
        return None
    photographs = [path.parents[1] / "images" / f"{path.stem}.jpg"]
    photographs += [path.parents[1] / "gray" / path.name]
    found = next((p for p in photographs if p.exists()), None)
    photograph = None if found is None else read_image(found, grey=True)
    rng = np.random.default_rng([seed, *mask.shape])
    for _ in range(1000):
        row, column = (int(rng.integers(side - SIDE + 1)) for side in mask.shape)
        window = (slice(row, row + SIDE), slice(column, column + SIDE))
        for turn in (1, -1):
            part = mask[window][:, ::turn]
            if part[0, 0] != part[-1, -1] and 0.25 <= part.mean() <= 0.75:
                seen = None if photograph is None else photograph[window][:, ::turn]
                whole = seen is not None and seen.shape == part.shape
                return part, seen if whole else None
    return None


def run(params: Params) -> Record:
    """Train on a made mask, and on the mask itself; find the boundary of the mask."""
    noise, seed = params["noise"], params["seed"]
    rng = np.random.default_rng([seed, noise])
    shapes = np.random.default_rng(seed)
    wanted = shape_mask((SIDE, SIDE), shapes, split_corners=True)
    lesson = shape_mask((SIDE, SIDE), shapes, split_corners=True)
    photograph = None
    if "path" in params:
        crop = _crop(Path(params["path"]), seed)
        assert crop is not None, "trials lists masks that have a window"
        wanted, photograph = crop
    image, lesson_image = noisy_mask(wanted, noise, rng), noisy_mask(lesson, noise, rng)
    taught = {"other": (lesson_image, lesson), "own": (image, wanted)}
    record: Record = {"error": {}, "weights": {}, "gap": {}, "seconds": {}}
    for source, (x, y) in taught.items():
        states = {}
        for loss in ("margin", "likelihood"):
            crf = _fit(loss, params["features"], x, y, params["lambda"])
            states[f"{loss}, MAP"] = crf.predict([image])[0]
            record["weights"][f"{loss}, {source}"] = crf.coef_.round(6)
            record["gap"][f"{loss}, {source}"] = crf.training_.gap
            history = crf.training_.history
            record["seconds"][f"{loss}, {source}"] = history[-1]["seconds"] / len(history)
        probability = crf.predict_proba([image])[0]
        states["likelihood, pixels"] = probability > 0.5
        record["error"][source] = {name: _error(s, wanted) for name, s in states.items()}
    if seed == 0:
        record["pictures"] = {
            "mask": _pack(wanted),
            "image": _pack(image),
            # Predictions call the first pixel False; show them as the mask has it.
            "state": _pack(states["margin, MAP"] ^ wanted[0, 0]),
            "probability": _pack(1.0 - probability if wanted[0, 0] else probability),
            **({} if photograph is None else {"photograph": _pack(photograph)}),
        }
    return record


def _fit(loss: str, features: str, image: Array, mask: BoolArray, penalty: float) -> PlanarCRF:
    crf = PlanarCRF(
        loss,
        regularization=penalty,
        peg="corners",
        features=FEATURES[features],
        tol=1e-3,
        n_jobs=1,
        num_samples=NUM_SAMPLES,
    )
    return crf.fit([image], [mask])


def _error(state: Array, wanted: BoolArray) -> float:
    """Return the percentage of wrong pixels, up to a global flip."""
    wrong = float(np.mean((state == state[0, 0]) != (wanted == wanted[0, 0])))
    return 100 * min(wrong, 1 - wrong)


def _pack(values: Array) -> str:
    """Return an image as 256 grey levels in hexadecimal digits."""
    x = np.asarray(values, dtype=np.float64)
    span = float(np.ptp(x)) or 1.0
    return bytes(np.rint((x - x.min()) / span * 255).astype(np.uint8)).hex()


def _unpack(digits: str) -> Array:
    return np.frombuffer(bytes.fromhex(digits), dtype=np.uint8).reshape(SIDE, SIDE)


def plot(every: Sequence[Result]) -> Panels:
    """Draw the errors over the noise, one image from mask to segmentation, and other λ."""
    results = [r for r in every if r.params["lambda"] == PENALTIES[0]] or list(every)
    swept = penalty_panels(every)
    pictures = [
        Picture(
            f"Wrong pixels with the features {', '.join(FEATURES[name])}, {words}: medians and "
            "quartiles over images.",
            _draw_errors(results, name, source),
        )
        for name in FEATURES
        for source, words in SOURCES.items()
        if any(result.params["features"] == name for result in results)
    ]
    header = ("S/N", "features", "weights", "prediction", "images")
    spread = ("lower quartile", "median", "upper quartile", "lost")
    rows = [
        [
            f"1:{noise}",
            features,
            source,
            method,
            len(errors),
            *np.percentile(errors, (25, 50, 75)).tolist(),
            f"{np.mean(np.array(errors) > LOST):.0%}",
        ]
        for (noise, features, source, method), errors in _groups(results).items()
    ]
    return Panels(
        pictures=[*pictures, *swept.pictures, *_draw_panels(results)],
        tables=[Table("Wrong pixels in per cent", (*header, *spread), rows), *swept.tables],
        verdicts=[*_verdicts(results), *swept.verdicts],
        notes=[RATIO, LESSON, _costs(results)],
    )


def _groups(results: Sequence[Result]) -> dict[tuple[int, str, str, str], list[float]]:
    groups: dict[tuple[int, str, str, str], list[float]] = {}
    for params, record in results:
        for source, errors in record["error"].items():
            for method, error in errors.items():
                key = (params["noise"], params["features"], source, method)
                groups.setdefault(key, []).append(error)
    return dict(sorted(groups.items(), key=lambda item: (item[0][1], item[0][2], item[0][0])))


def _draw_errors(results: Sequence[Result], features: str, source: str) -> Any:
    figure, axes = new_axes(size=3.6)
    groups = _groups(results)
    for k, (method, colour) in enumerate(zip(METHODS, PALETTE, strict=False)):
        mine = {key[0]: e for key, e in groups.items() if key[1:] == (features, source, method)}
        if not mine:
            continue
        low, middle, high = np.array([np.percentile(e, (25, 50, 75)) for e in mine.values()]).T
        x = np.array(list(mine)) + 0.08 * (k - 1)
        bars = [middle - low, high - middle]
        axes.errorbar(x, middle, bars, marker="o", ms=3, capsize=2, color=colour, label=method)
    axes.axhline(PUBLISHED, color="#7a8793", lw=0.8, ls="--", label=f"{PUBLISHED} %, published")
    axes.set(xlabel="noise to signal", ylabel="wrong pixels in per cent")
    axes.set_title(f"{features}: {SOURCES[source]}", fontsize=9)
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(0, 60)
    axes.legend(fontsize=6)
    return figure


def _draw_panels(results: Sequence[Result]) -> list[Picture]:
    """Draw the last stored image per kind of features at 1:8, else the noisiest that was found."""
    stored = [result for result in results if "pictures" in result.record]
    pictures = []
    for features in FEATURES:
        mine = [result for result in stored if result.params["features"] == features]
        if not mine:
            continue
        at_eight = [result for result in mine if result.params["noise"] == 8]
        params, record = (at_eight or mine)[0]
        held = {name: _unpack(digits) for name, digits in record["pictures"].items()}
        wrong = record["error"]["own"]["margin, MAP"]
        where = f"Features {features}, S/N 1:{params['noise']}"
        captions = (
            f"{where}: the model.",
            f"{where}: the {'photograph' if 'photograph' in held else 'mask'}.",
            f"{where}: what is seen.",
            f"{where}: the MAP state after max-margin training on this image, {wrong:.2f} % wrong.",
            f"{where}: how probable each pixel is after likelihood training on this image.",
        )
        figures = _five_panels(held)
        pictures += [Picture(words, one) for words, one in zip(captions, figures, strict=True)]
    return pictures


def _five_panels(held: dict[str, Array]) -> list[Any]:
    """Draw each panel by itself: the page sets them side by side or below each other."""
    from matplotlib.colors import ListedColormap

    model, axes = new_axes(size=2.4)
    _draw_model(axes)
    figures = [model]
    two = ListedColormap([DOWN, UP])
    shown = (
        (held.get("photograph", held["mask"]), "gray" if "photograph" in held else two, "original"),
        (held["image"], "gray", "noisy mask"),
        (held["state"], two, "MAP"),
        (held["probability"], "gray", "probability"),
    )
    for image, colours, title in shown:
        figure, axes = new_axes(size=2.4)
        axes.imshow(image, cmap=colours, interpolation="nearest")
        axes.contour(held["mask"], levels=[127], colors=[BROKEN], linewidths=0.8)
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
        figures.append(figure)
    return figures


def _draw_model(axes: Any) -> None:
    """Draw a small grid with the pegged edge from corner to corner."""
    side = 6
    for k in range(side):
        axes.plot([0, side - 1], [k, k], color="#7a8793", lw=0.8, marker="o", ms=2)
        axes.plot([k, k], [0, side - 1], color="#7a8793", lw=0.8)
    t = np.linspace(0, 1, 50)[:, None]
    start, end = np.array([0, side - 1]), np.array([side - 1, 0])
    bend = np.array([side + 0.6, side + 0.6])
    curve = (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end
    axes.plot(*curve.T, color=BROKEN, lw=1.5)
    axes.set_title("the corners differ", fontsize=9)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _verdicts(results: Sequence[Result]) -> list[Verdict]:
    groups = _groups(results)
    verdicts = []
    for features in FEATURES:
        for source, words in SOURCES.items():
            errors = groups.get((8, features, source, "margin, MAP"), [])
            if not errors:
                continue
            low, middle, high = np.percentile(errors, (25, 50, 75))
            verdicts.append(
                Verdict(
                    f"At S/N 1:8 max-margin training and MAP leave {PUBLISHED} % of pixels wrong "
                    f"(features {', '.join(FEATURES[features])}; {words}).",
                    f"Median {middle:.2f} %, quartiles {low:.2f} and {high:.2f} %, over "
                    f"{len(errors)} images.",
                    bool(middle <= PUBLISHED) if len(errors) >= 3 else None,
                    f"the median over images is at most {PUBLISHED} %, with λ = 1",
                    "three images or more",
                )
            )
    lost = [e for n in (9, 10) for e in groups.get((n, "paper", "own", "margin, MAP"), [])]
    if lost:
        share = float(np.mean(np.array(lost) > LOST))
        verdicts.append(
            Verdict(
                "At S/N 1:9 and lower the boundary is not found.",
                f"More than {LOST:.0f} % wrong in {share:.0%} of {len(lost)} images.",
                share > 0.5,
                "more than half of the images at 1:9 and 1:10 are lost, with λ = 1",
            )
        )
    return verdicts


def _costs(results: Sequence[Result]) -> str:
    rounds = {
        loss: 1000 * float(np.median([r.record["seconds"][f"{loss}, own"] for r in results]))
        for loss in ("margin", "likelihood")
    }
    return (
        f"One round of max-margin training takes {rounds['margin']:.0f} ms, one of likelihood "
        f"training, log Z and all marginals of 10 000 spins, {rounds['likelihood']:.0f} ms; the "
        "paper could not compute the latter."
    )


FIGURE = Figure(
    name="boundary",
    title="Boundary detection under pink noise",
    paper="Schraudolph and Kamenetsky 2008, Figure 5",
    claim="A planar Ising grid trained for maximum margin finds the boundary at a signal-to-noise "
    "ratio of 1:8 with 0.67 % of the nodes wrong, and loses it at 1:9.",
    version=2,
    trials=trials,
    run=run,
    plot=plot,
)
