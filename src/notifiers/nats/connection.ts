/** The part of a NATS client that the notifier uses: of `@nats-io/transport-node`, or of any client shaped like it. */
export interface NatsConnectionLike {
  publish(subject: string, payload?: string, options?: { reply?: string }): void
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: NatsMessageLike) => void },
  ): NatsSubscriptionLike
  request(subject: string, payload?: string, options?: { timeout: number }): Promise<NatsMessageLike>
  /** Resolves when everything before it has reached the server. */
  flush(): Promise<void>
  /** What happens to the connection, for ever: `disconnect` and `reconnect` among others. */
  status(): AsyncIterable<{ readonly type: string }>
  closed(): Promise<unknown>
  close(): Promise<void>
  isClosed(): boolean
}

export interface NatsMessageLike {
  readonly subject: string
  readonly data: Uint8Array
  /** Where to answer. */
  readonly reply?: string | undefined
  readonly headers?: { readonly code: number; readonly description: string } | undefined
}

export interface NatsSubscriptionLike {
  unsubscribe(): void
  /** Ends it, after what is on its way has come. */
  drain(): Promise<void>
}
