import retry from "async-retry";

/** Sends one mail. The library waits between attempts and spreads its waits. */
export async function send(to: string, text: string): Promise<void> {
  // damper: ignore[budget-absent] a batch of a few mails at night
  await retry(
    async () => {
      const answer = await fetch("https://mail.internal/send", {
        method: "POST",
        body: JSON.stringify({ to, text }),
      });
      if (!answer.ok) throw new Error(`mail: ${answer.status}`);
    },
    { retries: 2, minTimeout: 500, factor: 2 },
  );
}

/** Asks for the state of a mail, and again at once if that fails. */
export async function state(id: string): Promise<string> {
  let left = 5;
  while (true) {
    try {
      const answer = await fetch(`https://mail.internal/state/${id}`);
      return await answer.text();
    } catch (error) {
      left -= 1;
      if (left === 0) throw error;
    }
  }
}
