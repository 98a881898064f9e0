// expect awaited: retry attempts=dynamic expression=most delay=exponential base=2000
export async function awaited<T>(most: number, callback: () => Promise<T>): Promise<T> {
  let attempts = 0;
  let last: Error | null = null;
  while (attempts < most) {
    try {
      if (attempts > 0) {
        await sleep(1000 * Math.pow(2, attempts));
      }
      return await callback();
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      attempts += 1;
      last = error;
    }
  }
  throw last;
}

// It is told what went wrong, each time.
export function told(errors: Error[], callback: (error: Error) => void) {
  for (const error of errors) {
    try {
      callback(error);
    } catch (other) {
      log(other);
    }
  }
}
