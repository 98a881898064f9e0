# py-anthropic with a loop around it: their attempts multiply.
import os
import time

import anthropic

client = anthropic.Anthropic(
    api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon", max_retries=1
)


def ask(prompt):
    for attempt in range(3):
        try:
            return client.messages.create(
                model="any", max_tokens=5, messages=[{"role": "user", "content": prompt}]
            )
        except anthropic.APIStatusError:
            time.sleep(0.01 * (attempt + 1))
    return None


ask("hello")
