# py-stripe: set for the whole module.
import os

import stripe

stripe.api_key = "sk_test_1"
stripe.api_base = os.environ["HARNESS_URL"] + "/500"
stripe.max_network_retries = 3
stripe.Customer.list()
