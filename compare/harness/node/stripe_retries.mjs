// js-stripe: maxNetworkRetries counts the retries.
import Stripe from 'stripe';

const { hostname, port } = new URL(process.env.HARNESS_URL);
const stripe = new Stripe('sk_test_1', {
  host: hostname,
  port,
  protocol: 'http',
  maxNetworkRetries: 3,
});
await stripe.customers.list();
