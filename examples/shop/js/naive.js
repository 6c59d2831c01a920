// The usual helper: a token for each order,
// and a new one when the server says 425.
export async function buyOnce(newToken, send) {
  let answer = await send(await newToken())
  if (answer.status === 425) {
    // "Too early": take another token.
    answer = await send(await newToken())
  }
  return answer
}
