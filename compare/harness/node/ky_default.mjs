// js-ky: two retries of a GET if nobody says another number.
import ky from 'ky';

await ky.get(process.env.HARNESS_URL + '/503').json();
