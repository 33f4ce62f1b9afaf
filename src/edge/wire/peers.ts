/** Where connections come from that another socket of this process has taken in first, by the port that they have here. */
export class WirePeers {
  readonly #addresses = new Map<number, string>();

  /** Until the connection closes. */
  enter(port: number, address: string): void {
    this.#addresses.set(port, address);
  }

  leave(port: number): void {
    this.#addresses.delete(port);
  }

  addressOf(port: number | undefined): string | undefined {
    return port === undefined ? undefined : this.#addresses.get(port);
  }
}
