"""Grade-school mathematics in eleven languages (Suzgun & Kalai 2024, after Shi et al. 2022)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.mgsm import generate
from meta_tui.tasks.grading.mgsm import paper, strict

LANGUAGES: dict[str, str] = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "ru": "Russian",
    "zh": "Chinese",
    "ja": "Japanese",
    "th": "Thai",
    "sw": "Swahili",
    "bn": "Bengali",
    "te": "Telugu",
}

FAMILY = Family(
    id="mgsm",
    title="Multilingual Grade School Math",
    description="Solve this problem. Answer with one number.",
    generate=generate,
    graders={"paper": paper, "strict": strict},
    variants={f"mgsm_{code}": f"MGSM, {name}" for code, name in LANGUAGES.items()},
    options={"language": "en", "least": 1, "most": 6},
)
