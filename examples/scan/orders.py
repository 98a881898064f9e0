"""Orders: a client of the inventory service."""

import requests
from tenacity import retry, stop_after_attempt, wait_exponential_jitter

INVENTORY = "https://inventory.internal"
ATTEMPTS = 8


def reserve(item):
    """Reserves one item. Eight attempts, and no pause between them."""
    for attempt in range(ATTEMPTS):
        try:
            return requests.post(f"{INVENTORY}/reserve", json={"item": item})
        except Exception:
            if attempt == ATTEMPTS - 1:
                raise


@retry(stop=stop_after_attempt(3), wait=wait_exponential_jitter(initial=0.2, max=5))
def stock(item):
    """Reads the stock: three attempts, with waits that grow and are spread."""
    answer = requests.get(f"{INVENTORY}/stock/{item}", timeout=2)
    answer.raise_for_status()
    return answer.json()
