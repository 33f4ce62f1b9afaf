import type { Reason } from "../../engine/errors.ts";

export const locales = ["en", "de", "fr", "es", "ja", "zh"] as const;
export type Locale = (typeof locales)[number];

/** One short next step per reason, in the order of `locales`. */
type Hints = readonly [en: string, de: string, fr: string, es: string, ja: string, zh: string];

const hints: Record<Reason, Hints> = {
  approval_expired: [
    "Ask for a new approval.",
    "Fordern Sie eine neue Freigabe an.",
    "Demandez une nouvelle approbation.",
    "Solicite una nueva aprobación.",
    "新しい承認を依頼してください。",
    "请重新申请审批。",
  ],
  approval_already_decided: [
    "Reload the approval to see its decision.",
    "Laden Sie die Freigabe neu, um die Entscheidung zu sehen.",
    "Rechargez l'approbation pour voir la décision.",
    "Vuelva a cargar la aprobación para ver la decisión.",
    "承認を再読み込みして決定を確認してください。",
    "请重新加载审批以查看结果。",
  ],
  approval_stale_revision: [
    "Reload the approval and decide on its latest revision.",
    "Laden Sie die Freigabe neu und entscheiden Sie über die aktuelle Fassung.",
    "Rechargez l'approbation et décidez sur sa dernière version.",
    "Vuelva a cargar la aprobación y decida sobre la última revisión.",
    "承認を再読み込みし、最新の版について決定してください。",
    "请重新加载审批，并对最新版本作出决定。",
  ],
  requester_cannot_approve: [
    "Ask someone else to decide.",
    "Bitten Sie eine andere Person um die Entscheidung.",
    "Demandez à une autre personne de décider.",
    "Pida a otra persona que decida.",
    "別の人に決定を依頼してください。",
    "请由其他人来审批。",
  ],
  decision_proof_invalid: [
    "Sign the decision again on your device.",
    "Signieren Sie die Entscheidung erneut auf Ihrem Gerät.",
    "Signez de nouveau la décision sur votre appareil.",
    "Firme de nuevo la decisión en su dispositivo.",
    "端末で決定に署名し直してください。",
    "请在您的设备上重新签署该决定。",
  ],
  step_up_required: [
    "Confirm your identity again, then retry.",
    "Bestätigen Sie Ihre Identität erneut und wiederholen Sie den Aufruf.",
    "Confirmez de nouveau votre identité, puis réessayez.",
    "Confirme de nuevo su identidad y vuelva a intentarlo.",
    "本人確認をやり直してから再試行してください。",
    "请再次验证身份后重试。",
  ],
  reason_required: [
    "Give a reason for the decision.",
    "Geben Sie einen Grund für die Entscheidung an.",
    "Indiquez le motif de la décision.",
    "Indique el motivo de la decisión.",
    "決定の理由を入力してください。",
    "请填写决定的理由。",
  ],
  invalid_decision: [
    "Choose one of the decisions offered.",
    "Wählen Sie eine der angebotenen Entscheidungen.",
    "Choisissez l'une des décisions proposées.",
    "Elija una de las decisiones ofrecidas.",
    "提示された決定の中から選んでください。",
    "请从提供的选项中选择。",
  ],
  pairing_expired: [
    "Start a new pairing.",
    "Starten Sie eine neue Kopplung.",
    "Lancez un nouvel appairage.",
    "Inicie un nuevo emparejamiento.",
    "ペアリングをやり直してください。",
    "请重新开始配对。",
  ],
  pairing_used: [
    "Start a new pairing for this device.",
    "Starten Sie für dieses Gerät eine neue Kopplung.",
    "Lancez un nouvel appairage pour cet appareil.",
    "Inicie un nuevo emparejamiento para este dispositivo.",
    "この端末用に新しいペアリングを開始してください。",
    "请为此设备重新开始配对。",
  ],
  device_revoked: [
    "Pair this device again.",
    "Koppeln Sie dieses Gerät erneut.",
    "Appairez de nouveau cet appareil.",
    "Vuelva a emparejar este dispositivo.",
    "この端末をもう一度ペアリングしてください。",
    "请重新配对此设备。",
  ],
  push_target_unknown: [
    "Register the push target first.",
    "Registrieren Sie zuerst das Push-Ziel.",
    "Enregistrez d'abord la cible de notification.",
    "Registre primero el destino de notificaciones.",
    "先にプッシュ先を登録してください。",
    "请先注册推送目标。",
  ],
  not_implemented: [
    "Check the method's name, or use a server that has it.",
    "Prüfen Sie den Namen der Methode oder nutzen Sie einen Server, der sie hat.",
    "Vérifiez le nom de la méthode ou utilisez un serveur qui la propose.",
    "Compruebe el nombre del método o use un servidor que lo tenga.",
    "メソッド名を確認するか、対応するサーバーを使ってください。",
    "请检查方法名，或使用支持该方法的服务器。",
  ],
  feature_not_in_variant: [
    "This build does not hold the feature: use one that does.",
    "Diese Ausgabe enthält die Funktion nicht: Nutzen Sie eine andere.",
    "Cette édition n'inclut pas la fonction : utilisez-en une autre.",
    "Esta edición no incluye la función: use otra que la tenga.",
    "このビルドには機能がありません。対応するビルドを使ってください。",
    "此版本不含该功能，请使用包含它的版本。",
  ],
  invalid_argument: [
    "Correct the field that the error names.",
    "Berichtigen Sie das im Fehler genannte Feld.",
    "Corrigez le champ indiqué par l'erreur.",
    "Corrija el campo que indica el error.",
    "エラーが示すフィールドを修正してください。",
    "请更正错误中指出的字段。",
  ],
  not_found: [
    "Check the name, or create the resource first.",
    "Prüfen Sie den Namen oder legen Sie die Ressource zuerst an.",
    "Vérifiez le nom ou créez d'abord la ressource.",
    "Compruebe el nombre o cree primero el recurso.",
    "名前を確認するか、先にリソースを作成してください。",
    "请检查名称，或先创建该资源。",
  ],
  already_exists: [
    "Choose another name, or use the one that exists.",
    "Wählen Sie einen anderen Namen oder nutzen Sie das Vorhandene.",
    "Choisissez un autre nom ou utilisez l'existant.",
    "Elija otro nombre o use el existente.",
    "別の名前を選ぶか、既存のものを使ってください。",
    "请换一个名称，或使用已有的资源。",
  ],
  permission_denied: [
    "Ask an administrator for access.",
    "Bitten Sie die Administration um Zugriff.",
    "Demandez l'accès à un administrateur.",
    "Pida acceso a un administrador.",
    "管理者にアクセス権を依頼してください。",
    "请向管理员申请访问权限。",
  ],
  token_expired: [
    "Sign in again to get a new token.",
    "Melden Sie sich erneut an, um ein neues Token zu erhalten.",
    "Reconnectez-vous pour obtenir un nouveau jeton.",
    "Vuelva a iniciar sesión para obtener un token nuevo.",
    "もう一度サインインして新しいトークンを取得してください。",
    "请重新登录以获取新令牌。",
  ],
  unauthenticated: [
    "Send a valid credential.",
    "Senden Sie gültige Anmeldedaten.",
    "Envoyez des identifiants valides.",
    "Envíe una credencial válida.",
    "有効な認証情報を送ってください。",
    "请提供有效的凭据。",
  ],
  failed_precondition: [
    "Bring the resource into the state that the call needs, then retry.",
    "Bringen Sie die Ressource in den nötigen Zustand und wiederholen Sie den Aufruf.",
    "Mettez la ressource dans l'état requis, puis réessayez.",
    "Ponga el recurso en el estado necesario y vuelva a intentarlo.",
    "リソースを必要な状態にしてから再試行してください。",
    "请先使资源处于所需状态，然后重试。",
  ],
  resource_exhausted: [
    "Wait for the time given, then retry.",
    "Warten Sie die angegebene Zeit und wiederholen Sie den Aufruf.",
    "Attendez le délai indiqué, puis réessayez.",
    "Espere el tiempo indicado y vuelva a intentarlo.",
    "指定された時間だけ待ってから再試行してください。",
    "请等待指定时间后重试。",
  ],
  unavailable: [
    "Retry in a moment.",
    "Versuchen Sie es in Kürze erneut.",
    "Réessayez dans un instant.",
    "Vuelva a intentarlo en un momento.",
    "しばらくしてから再試行してください。",
    "请稍后重试。",
  ],
  deadline_exceeded: [
    "Allow more time, or ask for less.",
    "Geben Sie mehr Zeit oder fordern Sie weniger an.",
    "Accordez plus de temps ou demandez-en moins.",
    "Conceda más tiempo o pida menos.",
    "期限を延ばすか、要求を小さくしてください。",
    "请延长时限，或减少请求的内容。",
  ],
  aborted: [
    "Read the latest state, then retry.",
    "Lesen Sie den aktuellen Stand und wiederholen Sie den Aufruf.",
    "Lisez l'état le plus récent, puis réessayez.",
    "Lea el estado más reciente y vuelva a intentarlo.",
    "最新の状態を読み直してから再試行してください。",
    "请读取最新状态后重试。",
  ],
  internal: [
    "Retry, and report the request id if it happens again.",
    "Versuchen Sie es erneut und melden Sie bei Wiederholung die Anfrage-ID.",
    "Réessayez et signalez l'identifiant de la requête si cela se reproduit.",
    "Vuelva a intentarlo y, si se repite, comunique el id de la solicitud.",
    "再試行し、繰り返す場合はリクエスト ID を報告してください。",
    "请重试；若再次发生，请报告请求 ID。",
  ],
  method_not_allowed: [
    "Use POST.",
    "Verwenden Sie POST.",
    "Utilisez POST.",
    "Use POST.",
    "POST を使ってください。",
    "请使用 POST。",
  ],
  body_too_large: [
    "Send less in one request.",
    "Senden Sie weniger in einer Anfrage.",
    "Envoyez moins de données par requête.",
    "Envíe menos datos por solicitud.",
    "一度に送る量を減らしてください。",
    "请减少单次请求的数据量。",
  ],
  unsupported_media_type: [
    "Send a content type that the call supports.",
    "Senden Sie einen unterstützten Inhaltstyp.",
    "Envoyez un type de contenu pris en charge.",
    "Envíe un tipo de contenido admitido.",
    "対応しているコンテンツタイプで送ってください。",
    "请使用受支持的内容类型。",
  ],
  offset_out_of_range: [
    "Continue from an offset within the range given.",
    "Setzen Sie bei einem Offset im angegebenen Bereich fort.",
    "Reprenez à un décalage compris dans l'intervalle indiqué.",
    "Continúe desde un desplazamiento dentro del intervalo indicado.",
    "示された範囲内のオフセットから続けてください。",
    "请从给定范围内的偏移量继续。",
  ],
};

export function hintFor(reason: Reason, locale: Locale): string {
  return hints[reason][locales.indexOf(locale)]!;
}

const acceptLanguageLengthMax = 1000;

/** The best supported language of an `Accept-Language` header; English when none is. */
export function chooseLocale(acceptLanguage: string | null | undefined): Locale {
  let best: Locale = "en";
  let bestQuality = 0;
  for (const item of (acceptLanguage ?? "").slice(0, acceptLanguageLengthMax).split(",")) {
    const [range = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    const locale = range === "*" ? "en" : locales.find((known) => known === range.split("-")[0]);
    // A later language wins only with a higher weight.
    if (locale !== undefined && quality > bestQuality) {
      best = locale;
      bestQuality = quality;
    }
  }
  return best;
}
