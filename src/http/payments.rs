//! `POST /v1/orders/{order_id}/payments` and `POST /v1/orders/{order_id}/cancel`.

use crate::app::cancel_order::cancel_order;
use crate::app::error::AppError;
use crate::app::pay_order::pay_order;
use crate::domain::ids::OrderId;
use crate::domain::scope::Scope;
use crate::http::problem::Problem;
use crate::http::{Use, keyed};
use actix_web::{HttpRequest, HttpResponse, web};

/// The next attempt to pay an order.
pub async fn pay(
    app: Use,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let keyed = keyed::read(&app, &request, payload, Scope::OrdersWrite).await?;
    let order_id = OrderId::parse(&path).ok_or(AppError::NotFound)?;
    keyed::respond(
        &app,
        &keyed,
        |app, command, deadline| async move { pay_order(&app, &command, order_id, deadline).await },
    )
    .await
}

/// Cancels an order.
pub async fn cancel(
    app: Use,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let keyed = keyed::read(&app, &request, payload, Scope::OrdersWrite).await?;
    let order_id = OrderId::parse(&path).ok_or(AppError::NotFound)?;
    keyed::respond(&app, &keyed, |app, command, deadline| async move {
        cancel_order(&app, &command, order_id, deadline).await
    })
    .await
}
