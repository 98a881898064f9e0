# no retry: a client of its own does not take over the number of the module.
import os

import stripe

client = stripe.StripeClient("sk_test_1", base_addresses={"api": os.environ["HARNESS_URL"] + "/500"})
client.v1.customers.list()
