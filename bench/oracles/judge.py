"""Judges Chinese numbers: lines of `{ name, seed, value }` on standard input, findings on output."""

import json
import sys

from stdnum import luhn
from stdnum.cn import ric, uscc

JUDGES = {"idCard": ric.validate, "creditCode": uscc.validate, "bankCard": luhn.validate}

for line in sys.stdin:
    sample = json.loads(line)
    for key, validate in JUDGES.items():
        try:
            validate(sample["value"][key])
        except Exception as error:
            why = f"/{key}: {type(error).__name__} {error}"
            finding = {"name": sample["name"], "seed": sample["seed"], "why": why}
            print(json.dumps({**finding, "value": sample["value"][key]}))
