/** Adds up the seconds that results took, as they come. */
export class Seconds {
  constructor(public sum = 0) {}

  readonly of = <T extends { seconds: number }>(result: T): T => {
    this.sum += result.seconds;
    return result;
  };
}
