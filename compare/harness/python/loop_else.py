# hand-rolled: for and else.
import os
import time

import requests

for attempt in range(1, 4):
    try:
        reply = requests.get(os.environ["HARNESS_URL"] + "/503", timeout=5)
        reply.raise_for_status()
        break
    except requests.RequestException:
        time.sleep(0.01)
else:
    raise SystemExit("no answer")
