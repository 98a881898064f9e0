// js-stripe: retries if nobody says another number.
import Stripe from 'stripe';

const { hostname, port } = new URL(process.env.HARNESS_URL);
const stripe = new Stripe('sk_test_1', { host: hostname, port, protocol: 'http' });
await stripe.customers.list();
