# py-stripe: two retries for the whole module if nobody says another number.
import os

import stripe

stripe.api_key = "sk_test_1"
stripe.api_base = os.environ["HARNESS_URL"] + "/500"
stripe.Customer.list()
