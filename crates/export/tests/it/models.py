"""Validates manifests of Istio against the models that PyPI's cloudcoil-models-istio makes of the
definitions of Istio 1.24. A field that they do not know is a mistake, but for those that are newer.

Argument: a file with a list of manifests in JSON.
"""

import json
import sys

from cloudcoil.models.istio.extensions import v1alpha1
from cloudcoil.models.istio.networking import v1

# Newer than the models.
NEWER = {"spec.trafficPolicy.retryBudget", "spec.http.retries.backoff"}
# Not checked by the definition either: a free structure.
FREE = {"spec.pluginConfig"}
KINDS = {
    "VirtualService": v1.VirtualService,
    "DestinationRule": v1.DestinationRule,
    "WasmPlugin": v1alpha1.WasmPlugin,
}


def unknown(given, known, path=""):
    """Fields of what was given that the model has not kept."""
    if isinstance(given, dict):
        for key, value in given.items():
            here = f"{path}.{key}" if path else key
            if here in FREE or here in NEWER:
                continue
            if not isinstance(known, dict) or key not in known:
                yield here
            else:
                yield from unknown(value, known[key], here)
    elif isinstance(given, list):
        for one, kept in zip(given, known):
            yield from unknown(one, kept, path)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        manifests = json.load(file)
    wrong = []
    for manifest in manifests:
        policy = manifest["spec"].get("trafficPolicy", {})
        bare = json.loads(json.dumps(manifest))
        if "retryBudget" in policy:
            del bare["spec"]["trafficPolicy"]["retryBudget"]
        model = KINDS[manifest["kind"]].model_validate(bare)
        kept = json.loads(model.model_dump_json(by_alias=True, exclude_none=True))
        wrong.extend(unknown(bare, kept))
    if wrong or not manifests:
        sys.exit(f"unknown fields: {wrong}")
    print(f"{len(manifests)} manifests")


main()
