# py-stripe: an option of the client.
import os

import stripe

client = stripe.StripeClient(
    "sk_test_1",
    base_addresses={"api": os.environ["HARNESS_URL"] + "/500"},
    max_network_retries=1,
)
client.v1.customers.list()
